package inspect_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/inspect"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/testdata/golden"
)

// TestAnswers asks the questions that the archives of testdata have as names of files, about
// the cluster of the same name in testdata/status, or their own cluster. "pod
// shop/web without Pods" is asked by a user who cannot list them.
func TestAnswers(t *testing.T) {
	files, err := filepath.Glob("testdata/why/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(err, files)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			manifests := manifestsOf(t, file, archive)
			for i, want := range archive.Files {
				if want.Name == "cluster.yaml" {
					continue
				}
				question, without, _ := strings.Cut(want.Name, " without ")
				lists := listsOf(t, manifests, strings.Fields(without)...)
				before, err := json.Marshal(lists)
				if err != nil {
					t.Fatal(err)
				}
				got := ask(t, lists, question)
				if golden.Updating() {
					archive.Files[i].Data = []byte(got)
				} else if diff := cmp.Diff(string(want.Data), got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", want.Name, diff)
				}
				if after, err := json.Marshal(lists); err != nil || string(after) != string(before) {
					t.Errorf("a question has changed the cluster: %v", err)
				}
			}
			if golden.Updating() {
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestDeletingNodeNamesWhatHoldsIt: also if its pool no longer exists.
func TestDeletingNodeNamesWhatHoldsIt(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/status/fleet.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, without := range [][]string{nil, {"NodePools"}} {
		lists := listsOf(t, archive.Files[0].Data, without...)
		for _, nc := range lists.Claims {
			nc.DeletionTimestamp = &nc.CreationTimestamp
		}
		const want = "What delays its removal:\n  the PodDisruptionBudget shop/worker allows no eviction\n"
		if got := ask(t, lists, "node lke1-batch-0"); !strings.Contains(got, want) {
			t.Errorf("without %v:\n%s", without, got)
		}
	}
}

func manifestsOf(t *testing.T, file string, archive *txtar.Archive) []byte {
	t.Helper()
	if archive.Files[0].Name == "cluster.yaml" {
		return archive.Files[0].Data
	}
	archive, err := txtar.ParseFile(filepath.Join("testdata/status", filepath.Base(file)))
	if err != nil {
		t.Fatal(err)
	}
	return archive.Files[0].Data
}

// ask asks a question such as "pod shop/web" twice: the answer must be the same.
func ask(t *testing.T, lists cluster.Snapshot, question string) string {
	t.Helper()
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	var q inspect.Question
	q.Kind, q.Name, _ = strings.Cut(question, " ")
	if namespace, name, ok := strings.Cut(q.Name, "/"); ok {
		q.Namespace, q.Name = namespace, name
	}
	var texts [2]string
	for i := range texts {
		a, err := inspect.Ask(t.Context(), lists, inspect.Given{Catalog: prices, Now: now}, q)
		if texts[i] = a.Text(120); err != nil {
			texts[i] = err.Error() + "\n"
		}
	}
	if diff := cmp.Diff(texts[0], texts[1]); diff != "" {
		t.Errorf("another time it is another answer:\n%s", diff)
	}
	return texts[0]
}
