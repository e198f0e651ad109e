package nodeclaim

import (
	"context"
	"fmt"
	"strings"

	"github.com/awslabs/operatorpkg/status"
	"sigs.k8s.io/controller-runtime/pkg/client"

	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// ClassTags returns the tags of each class that is ready. Tags change in place, so that no claim is replaced for
// them.
func ClassTags(ctx context.Context, r client.Reader) (map[string][]string, error) {
	var list linodev1alpha1.LinodeNodeClassList
	if err := r.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("list the LinodeNodeClasses: %w", err)
	}
	tags := make(map[string][]string, len(list.Items))
	for _, class := range list.Items {
		if class.StatusConditions().Get(status.ConditionReady).IsTrue() {
			tags[class.Name] = class.Spec.Tags
		}
	}
	return tags, nil
}

// TagProblem says why Linode or lkeplan rejects tags of a class; "" if they are valid. own are the prefixes of
// lkeplan's own tags. Limits of tags: 3 to 50 characters (API: pool tags).
func TagProblem(tags []string, own ...string) string {
	for _, tag := range tags {
		if len(tag) < 3 || len(tag) > 50 {
			return fmt.Sprintf("spec.tags: %q has %d characters; Linode allows tags of 3 to 50", tag, len(tag))
		}
		for _, prefix := range own {
			if strings.HasPrefix(strings.ToLower(tag), prefix) {
				return fmt.Sprintf("spec.tags: %q is one of lkeplan's own tags; choose another", tag)
			}
		}
	}
	return ""
}
