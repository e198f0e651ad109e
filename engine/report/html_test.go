package report

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// parsed walks a page and returns its elements as TAG and TAG ATTRIBUTE, each
// once, and all text. It fails where an element is not closed: the page is XML
// as well.
func parsed(t *testing.T, page string) (parts []string, text string) {
	t.Helper()
	dec := xml.NewDecoder(strings.NewReader(page))
	var b strings.Builder
	for {
		token, err := dec.Token()
		if err == io.EOF {
			slices.Sort(parts)
			return slices.Compact(parts), b.String()
		}
		if err != nil {
			t.Fatalf("%v in %s", err, page)
		}
		switch token := token.(type) {
		case xml.StartElement:
			parts = append(parts, token.Name.Local)
			for _, attr := range token.Attr {
				parts = append(parts, token.Name.Local+" "+attr.Name.Local)
			}
		case xml.CharData:
			b.Write(token)
		}
	}
}

// TestPageIsOnItsOwn: nothing in it asks for anything else, and nothing runs.
func TestPageIsOnItsOwn(t *testing.T) {
	harmless := strings.Fields("b body code dd details div dl dt footer g h1 h2 h3 head header html li line main meta ol p pre rect section small span style summary svg table tbody td text th thead title tr tspan ul")
	attributes := strings.Fields("aria-hidden aria-label charset class content dx height http-equiv lang name open overflow role rx width x x1 x2 y y1 y2")
	for _, r := range variety() {
		page := written(t, "html", r, Options{})
		parts, _ := parsed(t, page)
		for _, part := range parts {
			tag, attr, has := strings.Cut(part, " ")
			if !slices.Contains(harmless, tag) || has && !slices.Contains(attributes, attr) {
				t.Errorf("the page has %s", part)
			}
		}
		if strings.ContainsAny(page, "\x1b\u202e\u009b\u200b") {
			t.Error("the page holds characters that cannot be seen")
		}
	}
	css := CSS()
	for _, loads := range []string{"url(", "@import", "image-set", "//"} {
		if strings.Contains(css, loads) {
			t.Errorf("the style sheet has %s", loads)
		}
	}
}

// TestPageOfHostileTextHasNoElementMore than one of harmless text.
func TestPageOfHostileTextHasNoElementMore(t *testing.T) {
	want, _ := parsed(t, written(t, "html", hostileParts("x"), Options{}))
	for _, text := range hostileTexts {
		got, _ := parsed(t, written(t, "html", hostileParts(text), Options{}))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-harmless +hostile)\n%s", text, diff)
		}
	}
}

// TestPolicyAllowsTheStyleSheet, and nothing else.
func TestPolicyAllowsTheStyleSheet(t *testing.T) {
	page := written(t, "html", rich(), Options{})
	_, rest, _ := strings.Cut(page, "<style>")
	css, _, _ := strings.Cut(rest, "</style>")
	sum := sha256.Sum256([]byte(css))
	want := `content="default-src &#39;none&#39;; style-src &#39;sha256-` + strings.ReplaceAll(base64.StdEncoding.EncodeToString(sum[:]), "+", "&#43;") + `&#39;; base-uri`
	if !strings.Contains(page, want) {
		t.Errorf("want %s in %.700s", want, page)
	}
}

// TestPageShowsAll parts of a plan.
func TestPageShowsAll(t *testing.T) {
	_, text := parsed(t, written(t, "html", rich(), Options{}))
	for _, want := range []string{
		"Refused by max_rolled_nodes_percent; deletes 5 nodes of 1 pool, replaces 14 nodes of 1 pool", "clusters/prod compared with commit 1f2c3d4a5b6c",
		"All 14 nodes of pool.general are replaced.", "$2,880 → $4,608, now $1,008", "pool.batch", "payments/api", "kubectl-edit", "apply keeps it",
		"The limits leave no room", "namespace ops", "sha256:0123456789abcdef", "pools/general.lke.hcl:31",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %s", want)
		}
	}
}

// TestPoolsWithTheSameWindowsShareARow, so that a fleet can be looked at.
func TestPoolsWithTheSameWindowsShareARow(t *testing.T) {
	r := fleet(200, "x")
	for i := range 14 {
		c := &r.Changes[3+6*i]
		if c.Impact.Pace != nil {
			pace := *c.Impact.Pace
			pace.Windows = office(i + 2)
			pace.Windows[1].Nodes = 1
			c.Impact.Pace = &pace
		}
	}
	chart := weekChartOf(r)
	pools := chart.More
	for _, row := range chart.Rows {
		pools += 1 + row.others
	}
	if len(chart.Rows) > mostBars || pools != len(r.Summary().Rolled) {
		t.Errorf("%d rows show %d pools of %d", len(chart.Rows), pools, len(r.Summary().Rolled))
	}
}
