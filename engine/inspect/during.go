package inspect

import (
	"fmt"
	"time"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/during"
	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// setDuring names the active during block that gives a pool the value of a field, and when the block ends, as the end
// of a sentence; "" if no block does. The path is that of the field, such as spec.limits.
func setDuring(pool *karpv1.NodePool, path string, now time.Time) string {
	if pool == nil || pool.Annotations[manifest.AnnotationDuring] == "" {
		return ""
	}
	live, err := untyped(schemas.Pool, pool)
	if err != nil {
		return ""
	}
	name, until, err := during.Cause(live, path, now, kube.SameFields(live))
	switch {
	case err != nil:
		return fmt.Sprintf("; whether a during block sets it is unknown: %v", err)
	case name == "":
		return ""
	}
	text := fmt.Sprintf("; the block during %q sets %s", name, schemas.Written(schemas.Pool.Type, path))
	if !until.IsZero() {
		text += " until " + until.UTC().Format("Mon 2 Jan 15:04 UTC")
	}
	return text
}

// untyped is a typed object of a block, with its apiVersion and kind, which lists leave out.
func untyped(block schemas.Block, typed any) (map[string]any, error) {
	object, err := manifest.Untyped(typed)
	if err != nil {
		return nil, err
	}
	object["apiVersion"], object["kind"] = block.Object.APIVersion, block.Object.Kind
	return object, nil
}

// limitedDuring is setDuring for a sentence about the limits of the pool; "" for other sentences about why the pool
// creates no node.
func limitedDuring(pool *karpv1.NodePool, reason string, now time.Time) string {
	if !simulate.ExceedsLimits(pool.Name, reason) {
		return ""
	}
	return setDuring(pool, "spec.limits", now)
}
