package main

import (
	"fmt"
	"slices"
	"strings"
)

// rulesOfValidate is where lkeplan explain takes its pages from: a section of each rule,
// under its name and title.
const rulesOfValidate = "engine/lint/rules.md"

// splitRules makes a document of each rule, and one that lists them.
func (s *site) splitRules() error {
	sections := strings.Split("\n"+s.documents[rulesOfValidate], "\n## ")[1:]
	if len(sections) == 0 {
		return fmt.Errorf("%s has no sections", rulesOfValidate)
	}
	delete(s.documents, rulesOfValidate)
	slices.Sort(sections)
	var index strings.Builder
	index.WriteString("# Rules of validate\n\nMistakes that `lkeplan validate` finds, in addition to what the API " +
		"server refuses. `lkeplan explain RULE` prints the same.\n\n| rule | mistake |\n|---|---|\n")
	for _, section := range sections {
		heading, text, _ := strings.Cut(section, "\n")
		name, mistake, named := strings.Cut(heading, ": ")
		if !named {
			return fmt.Errorf("%s: the heading %q is no rule with a title", rulesOfValidate, heading)
		}
		fmt.Fprintf(&index, "| [%s](%[1]s.md) | %s |\n", name, mistake)
		s.documents["rules/"+name+".md"] = "# " + heading + "\n" + text
	}
	s.documents["rules/README.md"] = index.String()
	return nil
}
