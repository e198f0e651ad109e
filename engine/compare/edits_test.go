package compare

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/go-logr/logr"
	"github.com/hashicorp/hcl/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/kube"
)

// TestEditsAreJudgedAsApplied: of edits that people write, as TestRandomChangesAreJudgedAsApplied
// of random ones, the plan says what is sent, and which nodes Karpenter replaces.
func TestEditsAreJudgedAsApplied(t *testing.T) {
	edits, err := os.ReadFile("testdata/edits.txt")
	if err != nil {
		t.Fatal(err)
	}
	ctx, validator, draw := judging(t)
	for line := range strings.Lines(string(edits)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			continue
		}
		in, edit, _ := strings.Cut(line, " ")
		before, after, ok := strings.Cut(" "+edit, " =>")
		if !ok {
			t.Fatalf("no edit: %q", line)
		}
		t.Run(line, func(t *testing.T) {
			was, diags := withEdit(in, before)
			is, more := withEdit(in, after)
			if diags = append(diags, more...); diags.HasErrors() {
				t.Fatal(diags)
			}
			for range 3 { // of many labels that nodes can have
				if _, err := judge(ctx, validator, draw, was, is); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestManifestsOfAnyFormAreRefusedOrJudged: a value of any type at any place of a manifest ends
// in an error, or the plan says what is sent.
func TestManifestsOfAnyFormAreRefusedOrJudged(t *testing.T) {
	ctx, validator, draw := judging(t)
	values := []string{
		`1`, `-1`, `1.5`, `true`, `null`, `""`, `"x"`, `"1e400"`, `[]`, `[1]`, `[null]`, `[[1]]`, `["a"]`, `{}`, `{ a = 1 }`,
		`{ a = null }`, `[{}]`, `[{ key = 1 }]`, `[{ key = "a", operator = 1, values = 1 }]`,
		`[{ key = "a", operator = "In", values = [] }]`, `[{ key = "a", operator = "Gt", values = ["x"] }]`,
		`[{ key = "cpu", operator = "In", values = [1] }]`, `[{ nodes = 1 }]`,
		`[{ nodes = "x%", schedule = 1, duration = "-1h" }]`, `9223372036854775807`, `1e30`, `[{ apiVersion = 1 }]`,
		`[{ manager = 1, fieldsV1 = 1 }]`,
	}
	judged := 0
	for _, in := range []string{"pool", "class"} {
		was, diags := withEdit(in, "")
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		for path := range strings.FieldsSeq(`
			spec spec.template spec.template.spec spec.template.metadata spec.template.metadata.labels
			spec.template.metadata.labels.a spec.template.spec.requirements spec.template.spec.taints
			spec.template.spec.startupTaints spec.template.spec.nodeClassRef spec.template.spec.nodeClassRef.name
			spec.disruption spec.disruption.budgets spec.limits spec.limits.cpu spec.limits.nodes spec.replicas spec.weight
			spec.template.spec.expireAfter spec.template.spec.terminationGracePeriod metadata metadata.labels
			metadata.annotations metadata.labels.a status metadata.finalizers metadata.ownerReferences
			metadata.managedFields metadata.creationTimestamp metadata.uid metadata.resourceVersion metadata.generation
			spec.tags spec.kubelet spec.kubelet.kubeReserved spec.firewallID`) {
			for _, value := range values {
				keys := strings.Split(path, ".")
				text := strings.Join(keys, " = { ") + " = " + value + strings.Repeat(" }", len(keys)-1)
				is, diags := withEdit(in, "manifest = { "+text+" }")
				if diags.HasErrors() {
					continue
				}
				judged++
				if _, err := judge(ctx, validator, draw, was, is); err != nil {
					t.Errorf("%s: %s: %v", in, text, err)
				}
			}
		}
	}
	if judged < 50 {
		t.Errorf("only %d manifests compile", judged)
	}
}

func judging(t *testing.T) (context.Context, *kube.Validator, *draw) {
	t.Helper()
	validator := kube.BuiltinValidator()
	draw := newDraw(t, validator)
	draw.Rand = rand.New(rand.NewPCG(1, 1))
	return log.IntoContext(t.Context(), logr.Discard()), validator, draw
}

// withEdit compiles a pool and its class with more in one of them: "pool", "class", or
// "linode", the class in instance mode.
func withEdit(in, more string) (compile.Result, hcl.Diagnostics) {
	mode, class, pool := "lke", "", ""
	switch more = strings.ReplaceAll(more, ";", "\n"); in {
	case "linode":
		mode, class = "instance", "image = \"linode/debian12\"\n"+more
	case "class":
		class = more
	default:
		pool = more
	}
	if !strings.Contains(pool, "requirements =") {
		pool += "\nrequirements = { class = \"standard\" }"
	}
	text := fmt.Sprintf("cluster {\nname = \"dev\"\nregion = \"us-ord\"\nmode = %q\n}\nnode_class \"c\" {\n%s\n}\n"+
		"pool \"p\" {\nnode_class = node_class.c\n%s\n}\n", mode, class, pool)
	return compile.Dir(context.Background(), fstest.MapFS{"main.lke.hcl": {Data: []byte(text)}},
		compile.Options{Options: config.Options{Dir: "."}})
}
