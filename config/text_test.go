package config_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf16"

	"github.com/lkeplan/lkeplan/config"
)

// TestOneErrorPerCause checks that the cause that makes a whole file unreadable is reported once.
func TestOneErrorPerCause(t *testing.T) {
	t.Parallel()
	wide := []byte{0xff, 0xfe}
	for _, unit := range utf16.Encode([]rune(cluster)) {
		wide = append(wide, byte(unit), byte(unit>>8))
	}
	tests := []struct {
		name, file string
		data       []byte
		vars       []config.Var
		want       string
	}{
		{name: "UTF-16", data: wide, want: "File is UTF-16: The file is encoded in UTF-16. Save it as UTF-8."},
		{name: "UTF-16 without a mark", data: wide[2:],
			want: "File is UTF-16: The file is encoded in UTF-16. Save it as UTF-8."},
		{name: "Latin-1", data: []byte("# caf\xe9\n" + cluster), want: "File is not UTF-8: The file is not encoded in UTF-8."},
		{name: "a large file", data: []byte(strings.Repeat("# comment\n", 3<<20)),
			want: "File too large: a.lke.hcl has 31457280 bytes; the limit is 262144."},
		{name: "a merge conflict in JSON", file: "a.lke.json", data: []byte("{\n<<<<<<< HEAD\n}\n"),
			want: "Merge conflict: "},
		{name: "a word for a number", vars: []config.Var{{Name: "max", Value: "lots"}},
			data: []byte(cluster + "variable \"max\" {\n  type = number\n}\n"),
			want: "Wrong type for variable: The value is not valid for the variable \"max\", declared at a.lke.hcl:5: a number " +
				"is required."},
		{name: "a reference in JSON's quotes", file: "a.lke.json",
			data: []byte(`{"cluster":{"name":"a","region":"us-ord"},"pool":{"a":{"node_class":"node_class.d"}}}`),
			want: "Invalid node class: The argument node_class takes a reference to a node_class block, such as " +
				"node_class.default. In JSON, write it as an expression: \"${node_class.d}\"."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			name := "a.lke.hcl"
			if tt.file != "" {
				name = tt.file
			}
			_, diags, _ := compile(fstest.MapFS{name: {Data: tt.data}}, config.Options{Vars: tt.vars})
			if len(diags) != 1 || !strings.HasPrefix(diags[0].Summary+": "+diags[0].Detail, tt.want) {
				t.Errorf("%d diagnostics: %v\nwant %s", len(diags), fmt.Sprint(diags.Errs()), tt.want)
			}
		})
	}
}
