package compile_test

import (
	"context"
	"flag"
	"io"
	"math/bits"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/hashicorp/hcl/v2"

	"github.com/lkeplan/lkeplan/config/configtest"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/config/syntax"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/testdata/nightly"
)

// TestCost takes hostile directories through all that a person or a pull request
// can have done to them without a cluster. Each must be done soon, with little
// memory, and say little.
func TestCost(t *testing.T) {
	var warm hcl.Diagnostics // reads what is read once in a process
	everything(t, configtest.Hostile{Files: map[string]string{"main.lke.hcl": "pool \"a\" {}\n"}}.FS(), &warm)
	for n, h := range configtest.Hostiles() {
		if n%*every != 0 {
			continue
		}
		t.Run(h.Name, func(t *testing.T) {
			var diags hcl.Diagnostics
			within(t, func() int { return everything(t, h.FS(), &diags) })
			if h.Valid && diags.HasErrors() {
				t.Errorf("it is valid, and has errors: %s", beginning(diags))
			}
			found := h.Want == ""
			for _, d := range diags {
				found = found || strings.Contains(d.Summary+": "+d.Detail, h.Want)
			}
			if !found {
				t.Errorf("no error %q: %s", h.Want, beginning(diags))
			}
		})
	}
}

var every = flag.Int("every", nightly.Or(16, 1), "TestCost takes one of so many hostile directories; 1 is all")

// mostText is what messages may have in sum, in bytes, in any format.
const mostText = 2 << 20

// everything returns how many objects there are.
func everything(t *testing.T, files fstest.MapFS, diags *hcl.Diagnostics) int {
	t.Helper()
	for name, file := range files {
		if strings.HasSuffix(name, ".hcl") {
			_, _, _ = syntax.Format(name, file.Data)
		}
	}
	result, all := compile.Dir(context.Background(), files, compile.Options{})
	*diags = all
	shown := diag.New(all, result.Files)
	for name, write := range map[string]func(io.Writer) error{
		"text":  func(w io.Writer) error { return diag.Text(w, shown, true) },
		"json":  func(w io.Writer) error { return diag.JSON(w, shown) },
		"sarif": func(w io.Writer) error { return diag.SARIF(w, shown, "") },
		"junit": func(w io.Writer) error { return diag.JUnit(w, shown, nil) },
	} {
		n := counter(0)
		if err := write(&n); err != nil {
			t.Error(err)
		}
		if n > mostText {
			t.Errorf("%d bytes of %s", n, name)
		}
	}
	return len(result.Objects)
}

// FuzzCost makes directories of fragments of the language, repeated, and takes them
// through everything. What costs more than what was seen before is kept, and changed
// further.
func FuzzCost(f *testing.F) {
	for _, h := range fuzzed() {
		for first, name := range []string{"main.lke.hcl", "main.lke.json"} {
			if text := h.Files[name]; text != "" && len(text) < 1000 {
				f.Add(append([]byte{byte(first)}, text...))
			}
		}
	}
	often := repeat{Back: 1, Power: 12}
	for _, program := range [][]byte{
		programOf("locals {\n", "a# = ", "local.b#", "\n", repeat{Back: 3, Power: 12}, "}\n"),
		programOf("locals {\n", "a = ", "[for x in ", "range(1000)", " : x]", "\n", "}\n"),
		programOf("locals {\n", "a = ", "concat(", "range(1000)", ", ", repeat{Back: 2, Power: 6},
			"[", "]", ")", "\n", "b# = ", "flatten(", "[", "local.a", "]", ")", "\n", repeat{Back: 7, Power: 10}, "}\n"),
		programOf("node_class \"a\" {\n", "}\n", "pool \"a#\" {\n  node_class = node_class.a\n", "}\n",
			repeat{Back: 2, Power: 9}),
		programOf("locals {\n", "a = ", "<<E\n", "a", "\n", repeat{Back: 2, Power: 12}, "E\n", "}\n"),
		programOf("locals {\n", "a = ", "[", "1", ",", repeat{Back: 2, Power: 12}, "]", "\n", "}\n"),
		programOf("}\n", often),
	} {
		f.Add(program)
	}
	f.Fuzz(func(t *testing.T, program []byte) {
		name, text := textOf(program)
		files := configtest.Hostile{Files: map[string]string{name: string(text), "m/main.lke.hcl": "locals {\n  a = 1\n}\n"}}.FS()
		var diags hcl.Diagnostics
		steps(within(t, func() int { return everything(t, files, &diags) }))
	})
}

// fuzzed is the hostile directories to begin with, where TestCost has not been
// through them.
func fuzzed() []configtest.Hostile {
	if flag.Lookup("test.fuzz").Value.String() == "" {
		return nil
	}
	return configtest.Hostiles()
}

// steps has a branch for each power of two of a cost, so that the fuzzer, which
// looks for branches, looks for what costs more.
func steps(cost usage) {
	for n, unit := range []int64{int64(cost.CPU / time.Millisecond), cost.Heap >> 20} {
		switch bits.Len64(uint64(unit)) + 16*n {
		case 1:
			reached[1] = true
		case 2:
			reached[2] = true
		case 3:
			reached[3] = true
		case 4:
			reached[4] = true
		case 5:
			reached[5] = true
		case 6:
			reached[6] = true
		case 7:
			reached[7] = true
		case 8:
			reached[8] = true
		case 9:
			reached[9] = true
		case 16 + 1:
			reached[11] = true
		case 16 + 2:
			reached[12] = true
		case 16 + 3:
			reached[13] = true
		case 16 + 4:
			reached[14] = true
		case 16 + 5:
			reached[15] = true
		case 16 + 6:
			reached[16] = true
		case 16 + 7:
			reached[17] = true
		case 16 + 8:
			reached[18] = true
		}
	}
}

var reached [20]bool // keeps the compiler from joining the branches

type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

func beginning(diags hcl.Diagnostics) string {
	text := diags.Error()
	return text[:min(len(text), 300)]
}
