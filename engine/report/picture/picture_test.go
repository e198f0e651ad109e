package picture_test

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/engine/report/picture"
)

func TestStylesBecomeClasses(t *testing.T) {
	svg := picture.SVG("t", "a\x1b[1mb\x1b[0m\x1b[1;31mc\x1b[md\x1b[2Ke\x1b[38;5;1m\n\x1b[90m<&>")
	type element struct {
		Class  string `xml:"class,attr"`
		X      string `xml:"x,attr"`
		Length string `xml:"textLength,attr"`
		Text   string `xml:",chardata"`
	}
	var got []element
	dec := xml.NewDecoder(strings.NewReader(string(svg)))
	for {
		token, err := dec.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "text" {
			var e element
			if err := dec.DecodeElement(&e, &start); err != nil {
				t.Fatal(err)
			}
			got = append(got, e)
		}
	}
	want := []element{
		{"title", "41", "", "t"},
		{"", "20.0", "8.4", "a"}, {"bold", "28.4", "8.4", "b"}, {"bold red", "36.8", "8.4", "c"},
		{"", "45.2", "8.4", "d"}, {"", "53.6", "8.4", "e"},
		{"dim", "20.0", "25.2", "<&>"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
