package workload_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"sigs.k8s.io/karpenter/pkg/utils/resources"

	"github.com/lkeplan/lkeplan/engine/manifests"
	"github.com/lkeplan/lkeplan/engine/simulate/workload"
)

var update = flag.Bool("update", false, "rewrite golden files with what comes out")

// TestRead reads the archives of testdata, at the lower and at the upper
// bounds of autoscalers.
func TestRead(t *testing.T) {
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal("no archives", err)
	}
	for _, name := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var objects []manifests.Object
			for _, f := range archive.Files {
				if !strings.HasSuffix(f.Name, ".yaml") {
					continue
				}
				found, err := manifests.Read(f.Name, bytes.NewReader(f.Data))
				if err != nil {
					t.Fatal(err)
				}
				objects = append(objects, found...)
			}
			for i, f := range archive.Files {
				if f.Name != "want" && f.Name != "want at most" {
					continue
				}
				got := foundText(workload.Read(objects, f.Name == "want at most"))
				if *update {
					archive.Files[i].Data = []byte(got)
				} else if diff := cmp.Diff(string(f.Data), got); diff != "" {
					t.Errorf("%s (-want +got)\n%s", f.Name, diff)
				}
			}
			if *update {
				if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func foundText(found workload.Found, err error) string {
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	var b strings.Builder
	for _, w := range found.Workloads {
		pod := w.Pod
		each := resources.String(resources.RequestsForPods(&pod))
		fmt.Fprintf(&b, "%d of %s in %s, each %s", w.Pods, w.Name, pod.Namespace, each)
		if w.Barred != "" {
			b.WriteString(", barred: " + w.Barred)
		}
		b.WriteString("\n")
	}
	for _, d := range found.DaemonSets {
		each := resources.String(resources.RequestsForSpec(&d.Spec.Template.Spec))
		fmt.Fprintf(&b, "DaemonSet %s/%s, each %s\n", d.Namespace, d.Name, each)
	}
	for _, n := range found.Notes {
		b.WriteString("note: " + n + "\n")
	}
	for _, m := range found.Missing {
		b.WriteString("missing: " + m + "\n")
	}
	return b.String()
}

func TestParsePods(t *testing.T) {
	for text, want := range map[string]string{
		"200x1cpu,2Gi":               `200 {"cpu":"1","memory":"2Gi","pods":"1"}`,
		"4x2cpu,8Gi,gpu=1":           `4 {"cpu":"2","memory":"8Gi","nvidia.com/gpu":"1","pods":"1"}`,
		"1x500mcpu":                  `1 {"cpu":"500m","pods":"1"}`,
		"1x0.5cpu,memory=100M":       `1 {"cpu":"500m","memory":"100M","pods":"1"}`,
		"7x64Mi,storage=10Gi,vpu=1":  `7 {"ephemeral-storage":"10Gi","memory":"64Mi","netint.ca/Quadra":"1","pods":"1"}`,
		"1x1cpu,example.com/thing=2": `1 {"cpu":"1","example.com/thing":"2","pods":"1"}`,
		"0x1cpu":                     "the number of pods must be from 1 to 100000",
		"100001x1cpu":                "the number of pods must be from 1 to 100000",
		"1cpu":                       "the number of pods, followed by the letter x, is missing",
		"":                           "the number of pods, followed by the letter x, is missing",
		"5x":                         "the requests after \"5x\" are missing",
		"5x2":                        `"2" is neither an amount of memory, such as 2Gi, nor of CPU, such as 2cpu`,
		"5x200m":                     `"200m" is neither an amount of memory, such as 2Gi, nor of CPU, such as 2cpu`,
		"5xonecpu":                   `"onecpu" is not an amount`,
		"5x1cpu,2cpu":                "cpu appears twice",
		"5x-1cpu":                    `"-1cpu" is not an amount`,
		"5x1cpu,,2Gi":                `"" is neither an amount`,
		"5x1cpu,=1":                  "is neither an amount",
	} {
		load, err := workload.ParsePods(text)
		if err != nil {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v, want %s", text, err, want)
			}
			continue
		}
		if got := fmt.Sprintf("%d %s", load.Pods, resources.String(resources.RequestsForPods(&load.Pod))); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
