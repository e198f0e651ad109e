package workload_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/karpenter/pkg/utils/resources"

	"github.com/lkeplan/lkeplan/engine/manifests"
	"github.com/lkeplan/lkeplan/engine/simulate/workload"
)

// TestPodsOfWellKnownSoftware: each directory of the archive has manifests in a shape that software has, and in want the pods that
// it makes and all that they request, which were added up by hand. Each note is named by a part of it.
func TestPodsOfWellKnownSoftware(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/software/manifests.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	wants, dirs := map[string]string{}, map[string]fstest.MapFS{}
	for _, f := range archive.Files {
		name, file, _ := strings.Cut(f.Name, "/")
		if dirs[name] == nil {
			names, dirs[name] = append(names, name), fstest.MapFS{}
		}
		if file == "want" {
			wants[name] = strings.TrimSpace(string(f.Data))
			continue
		}
		file, as, _ := strings.Cut(file, " as ")
		dirs[name][file] = &fstest.MapFile{Data: encoded(t, string(f.Data), as)}
	}
	if len(names) < 60 {
		t.Errorf("there are only %d directories", len(names))
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			read, err := manifests.Directory{FS: dirs[name], Root: ".", Kinds: workload.Kinds()}.Read()
			if err != nil {
				t.Fatal(err)
			}
			found, err := workload.Read(read.Objects, false)
			if err != nil {
				t.Fatal(err)
			}
			notes, missing := read.Notes()
			var counts []string
			said := append(notes, found.Notes...)
			for _, m := range append(missing, found.Missing...) {
				said = append(said, "missing: "+m)
			}
			for line := range strings.Lines(wants[name]) {
				line = strings.TrimSpace(line)
				part, isNote := strings.CutPrefix(line, "note ")
				if !isNote {
					counts = append(counts, line)
					continue
				}
				i := slices.IndexFunc(said, func(note string) bool { return strings.Contains(note, part) })
				if i < 0 {
					t.Errorf("no note says %q", part)
					continue
				}
				said = slices.Delete(said, i, i+1)
			}
			if len(said) > 0 {
				t.Errorf("it is noted: %q", said)
			}
			if diff := cmp.Diff(counts, countsOf(found)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// encoded is a text in another encoding.
func encoded(t *testing.T, text, as string) []byte {
	t.Helper()
	wide := func(order binary.AppendByteOrder) (raw []byte) {
		for _, unit := range utf16.Encode([]rune("\ufeff" + text)) {
			raw = order.AppendUint16(raw, unit)
		}
		return raw
	}
	switch as {
	case "":
		return []byte(text)
	case "BOM":
		return []byte("\ufeff" + text)
	case "CRLF":
		return []byte(strings.ReplaceAll(text, "\n", "\r\n"))
	case "UTF-16LE":
		return wide(binary.LittleEndian)
	case "UTF-16BE":
		return wide(binary.BigEndian)
	}
	t.Fatalf("no encoding is called %q", as)
	return nil
}

// countsOf adds up pods that may have nodes, those that may have none, and those of DaemonSets on one node.
func countsOf(found workload.Found) (lines []string) {
	pods, barred, volumes, all := 0, 0, 0, corev1.ResourceList{}
	for _, w := range found.Workloads {
		if w.Barred != "" {
			barred += w.Pods
			continue
		}
		pods += w.Pods
		volumes += w.Pods*w.Volumes.Own + len(w.Volumes.Shared)
		for range w.Pods {
			all = resources.Merge(all, resources.RequestsForSpec(&w.Pod.Spec))
		}
	}
	lines = append(lines, fmt.Sprintf("pods %d%s", pods, amounts(all)))
	if volumes > 0 {
		lines = append(lines, fmt.Sprintf("volumes %d", volumes))
	}
	if barred > 0 {
		lines = append(lines, fmt.Sprintf("barred %d", barred))
	}
	if n := len(found.DaemonSets); n > 0 {
		all = corev1.ResourceList{}
		for _, d := range found.DaemonSets {
			all = resources.Merge(all, resources.RequestsForSpec(&d.Spec.Template.Spec))
		}
		lines = append(lines, fmt.Sprintf("daemons %d%s", n, amounts(all)))
	}
	if n := len(found.Budgets); n > 0 {
		lines = append(lines, fmt.Sprintf("budgets %d", n))
	}
	return lines
}

// amounts are what is requested: CPU in thousandths, GPUs as they are, and all else in MiB.
func amounts(all corev1.ResourceList) (text string) {
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, "nvidia.com/gpu", "hugepages-2Mi",
		corev1.ResourceEphemeralStorage} {
		q, there := all[name]
		switch {
		case !there || q.IsZero():
		case name == corev1.ResourceCPU:
			text += fmt.Sprintf(" cpu %dm", q.MilliValue())
		case name == "nvidia.com/gpu":
			text += fmt.Sprintf(" gpu %d", q.Value())
		default:
			text += fmt.Sprintf(" %s %dMi", name, q.Value()>>20)
		}
	}
	return text
}
