package controller

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// indexer records the fields that are indexed.
type indexer struct{ fields []string }

func (i *indexer) IndexField(_ context.Context, o client.Object, field string, _ client.IndexerFunc) error {
	kind := fmt.Sprintf("%T", o)
	i.fields = append(i.fields, kind[strings.LastIndex(kind, ".")+1:]+" "+field)
	return nil
}

// TestFieldsAreIndexedAsByKarpenter, whose function for it is not exported.
func TestFieldsAreIndexedAsByKarpenter(t *testing.T) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/karpenter").Output()
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "pkg/operator/operator.go"))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, m := range regexp.MustCompile(`IndexField\(ctx, &\w+\.(\w+)\{\}, "([^"]+)"`).FindAllStringSubmatch(string(source), -1) {
		want = append(want, m[1]+" "+m[2])
	}
	var got indexer
	if err := indexFields(t.Context(), &got); err != nil {
		t.Fatal(err)
	}
	slices.Sort(want)
	slices.Sort(got.fields)
	if diff := cmp.Diff(want, got.fields); diff != "" || len(want) == 0 {
		t.Errorf("indexes (-Karpenter's +ours)\n%s", diff)
	}
}
