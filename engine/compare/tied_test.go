package compare

import (
	"errors"
	"testing"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// TestAnotherClusterIsNotCompared: what a cluster says of itself is believed before what
// its kubeconfig is called.
func TestAnotherClusterIsNotCompared(t *testing.T) {
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	pool := func(owner string) cluster {
		return cluster{"NodePool": {`{"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "web",
			"labels": {"lkeplan.dev/part-of": "` + owner + `"}}}`}}
	}
	class := func(record string) cluster {
		return cluster{"LinodeNodeClass": {`{"apiVersion": "karpenter.k8s.linode/v1", "kind": "LinodeNodeClass",
			"metadata": {"name": "x", "annotations": {"lkeplan.dev/lke-cluster": "` + record + `"}}}`}}
	}
	head := compiled(t, "node_class \"default\" {}\n") // of the cluster dev in us-ord
	for name, tt := range map[string]struct {
		in    cluster
		other string
		want  string
	}{
		"empty":                      {cluster{}, "", ""},
		"its own":                    {pool("dev"), "", ""},
		"without an owner":           {pool(""), "", ""},
		"of a NodePlan":              {pool("nodeplan.flux-system.dev"), "", ""},
		"of another":                 {pool("prod"), "", "NodePool web was applied from the directory of the cluster prod"},
		"of another, by its name":    {pool("prod"), "prod", ""},
		"of another, by a wrong one": {pool("prod"), "staging", "NodePool web was applied from the directory of the cluster prod"},
		"recorded as its own":        {class("584692/dev"), "", ""},
		"recorded as another": {class("584692/prod"), "", "its controller reports the name prod in the annotation " +
			"lkeplan.dev/lke-cluster of LinodeNodeClass x"},
		"recorded as another of its name": {class("584693/dev"), "", "its id is 584693, not 584692, according to the annotation " +
			"lkeplan.dev/lke-cluster of LinodeNodeClass x"},
		"recorded as another, which is meant":             {class("584693/prod"), "prod", ""},
		"recorded as another of its name, which is meant": {class("584693/dev"), "dev", ""},
	} {
		t.Run(name, func(t *testing.T) {
			view := Tied(LiveView(tt.in), Tie{
				Cluster: config.Cluster{Name: "dev", ID: 584692}, Other: tt.other, Place: "context x"})
			_, err := Live(t.Context(), head, view, LiveOptions{Base: head, Prices: prices})
			var other OtherClusterError
			if errors.As(err, &other); other.Evidence != tt.want || (err != nil) != (tt.want != "") {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}
