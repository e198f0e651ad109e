package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

func TestResumeEndsTheNamedStopOrAll(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	var all []lkeplanv1alpha1.DisruptionStop
	for name, lasts := range map[string]time.Duration{"ann": time.Hour, "bob": 2 * time.Hour, "old": time.Minute} {
		all = append(all, lkeplanv1alpha1.DisruptionStop{
			ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(now.Add(-time.Minute))},
			Spec:       lkeplanv1alpha1.DisruptionStopSpec{For: metav1.Duration{Duration: lasts}},
		})
	}
	slices.SortFunc(all, func(a, b lkeplanv1alpha1.DisruptionStop) int { return strings.Compare(a.Name, b.Name) })
	for _, tc := range []struct{ named, ends, ended, others, fails string }{
		{named: "", ends: "ann bob", ended: "old"},
		{named: "bob", ends: "bob", others: "ann"},
		{named: "old", others: "ann bob", fails: "no stop old is active; the active stops are: ann, bob"},
		{named: "carl", others: "ann bob", fails: "no stop carl is active; the active stops are: ann, bob"},
	} {
		ends, ended, others, err := stopsToEnd(all, strings.Fields(tc.named), now)
		said := ""
		if err != nil {
			said = err.Error()
		}
		if namesOfStops(ends) != tc.ends || namesOfStops(ended) != tc.ended || strings.Join(others, " ") != tc.others || said != tc.fails {
			t.Errorf("resume %s: ends %q, ended %q, others %q, error %q; want %+v", tc.named, namesOfStops(ends), namesOfStops(ended), others, said, tc)
		}
	}
}

func namesOfStops(all []*lkeplanv1alpha1.DisruptionStop) string {
	var names []string
	for _, s := range all {
		names = append(names, s.Name)
	}
	return strings.Join(names, " ")
}

func TestStopRefusesWhatTheAPIServerWouldRefuse(t *testing.T) {
	for _, tc := range []struct{ args, want string }{
		{"stop", "--for 0s: write a time such as --for 2h"},
		{"stop --for 2h", "--reason is empty"},
		{"stop --for 169h --reason x", "at most 168h"},
		{"stop --for -2h --reason x", "more than 0"},
		{"stop --for 2h --reason x --drains kill", "finish"},
		{"stop now --for 2h --reason x", "argument"},
	} {
		in := bareEnv()
		if code := run(t.Context(), strings.Fields(tc.args), in); code != 1 || !strings.Contains(fmt.Sprint(in.Stderr), tc.want) {
			t.Errorf("lkeplan %s: %d: %s", tc.args, code, in.Stderr)
		}
	}
}
