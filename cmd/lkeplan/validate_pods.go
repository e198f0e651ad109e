package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/podsource"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/podlint"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// lookAtPods looks at pods and pools together. Looked says for people what of it was and
// was not, as it follows what the directory compiles to.
func lookAtPods(ctx context.Context, env *env, flags *podsource.Flags, access kube.Access, compiled compile.Result,
	opts compile.Options) (found hcl.Diagnostics, looked string, err error) {
	pods, err := flags.Read(ctx, env.Stdin, access)
	if err != nil {
		return nil, "", err
	}
	prices := opts.Catalog
	if prices == nil {
		if prices, err = catalog.Embedded(); err != nil {
			return nil, "", err
		}
	}
	in, err := pods.Input(compiled, prices)
	if err != nil {
		return nil, "", err
	}
	report, err := podlint.Check(ctx, compiled.Objects, in)
	if err != nil {
		return nil, "", fmt.Errorf("look at the pods: %w", err)
	}
	asked := 0
	for _, w := range in.Workloads {
		asked += w.Pods
	}
	var b strings.Builder
	fmt.Fprintf(&b, ", with %s", diag.Counted(asked, "pod"))
	for _, s := range report.Skipped {
		fmt.Fprintf(&b, "\nnot looked at: %s: %s", s.Rule, s.Why)
	}
	for _, n := range pods.NotesFor(compiled.Cluster) {
		fmt.Fprintf(&b, "\n%s", n)
	}
	return compiled.Diagnose(report.Findings), b.String(), nil
}

// withoutPods says that rules were not looked at.
const withoutPods = "; rules about pods not looked at"
