package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// TestLimitsCannotWriteMarkdown: the address of a limits block has a key that the author of a change chooses.
func TestLimitsCannotWriteMarkdown(t *testing.T) {
	const key = "</summary> @octocat [click](https://example.com) <!--"
	all := plan.Ceiling{Monthly: 2400 * catalog.Dollar}
	p := plan.Plan{After: plan.Cost{
		Ceiling: plan.Ceiling{Monthly: 100 * catalog.Dollar}, By: []string{`limits.l["` + key + `"]`}, Alone: &all,
	}, Changes: []plan.Change{{Kind: "CapacityLimit", Name: "l", Addr: "limits.l", Action: plan.Create}}}
	var b bytes.Buffer
	if err := Markdown(&b, Report{Plan: p}, Options{}); err != nil {
		t.Fatal(err)
	}
	i := strings.Index(b.String(), key)
	if i < 0 {
		return // it is escaped
	}
	line := b.String()[strings.LastIndex(b.String()[:i], "\n")+1 : i]
	if strings.Count(line, "`")%2 == 0 {
		t.Errorf("the key is not in a code span:\n%s", b.String())
	}
}
