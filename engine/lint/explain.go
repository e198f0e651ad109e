package lint

import (
	"fmt"
	"strings"

	"github.com/lkeplan/lkeplan/config/diag"
)

// Explanation is the whole text about the rule, for a terminal of 80 columns.
func (r Rule) Explanation() string {
	var b strings.Builder
	level := "warning"
	if r.Fatal {
		level = "error"
	}
	if r.Catalog {
		level += "; an error with --catalog"
	}
	if r.Pods {
		level += "; checked only with pods, such as by validate --workloads"
	}
	fmt.Fprintf(&b, "%s (%s)\n", r.Name, level)
	for _, text := range []string{r.What, r.Why, r.Do} {
		fmt.Fprintf(&b, "\n%s\n", strings.Join(diag.Wrap(text, 80), "\n"))
	}
	if r.Example != "" {
		b.WriteString("\n")
		for line := range strings.Lines(r.Example) {
			if strings.TrimSpace(line) != "" {
				b.WriteString("  ")
			}
			b.WriteString(line)
		}
		b.WriteString("\n")
	}
	return b.String()
}
