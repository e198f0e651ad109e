package nodeplan

import (
	"fmt"
	"strings"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// Settings describes the objects of a NodePlan whose during blocks are active, or whose values could not be switched, one
// line each: NodePool web has the values of during night until Tue 24 Nov 05:00 UTC.
func Settings(np *lkeplanv1alpha1.NodePlan) (lines []string) {
	for _, s := range np.Status.Settings {
		if len(s.Active) == 0 && s.Message == "" {
			continue
		}
		line := s.Object + " has the values of during " + strings.Join(s.Active, " and ")
		if len(s.Active) == 0 {
			line = s.Object + " is outside of its during blocks"
		}
		if s.Next != nil {
			line += " until " + s.Next.UTC().Format("Mon 2 Jan 15:04 UTC")
		}
		if s.Message != "" {
			line = fmt.Sprintf("%s was not switched: %s", s.Object, s.Message)
		}
		lines = append(lines, line)
	}
	return lines
}
