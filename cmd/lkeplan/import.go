package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/files"
	"github.com/lkeplan/lkeplan/engine/manifests"
	"github.com/lkeplan/lkeplan/engine/migrate"
	"github.com/lkeplan/lkeplan/engine/revision"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
	"github.com/lkeplan/lkeplan/schemas/text"
)

const importHelp = `Read NodePools, LinodeNodeClasses, NodeOverlays, CapacityBuffers and
CapacityLimits (limits over several pools), and write them as HCL. import reads them from the cluster, or
from manifests with --from. It changes nothing in the cluster. Without
arguments, import reads all objects. To read one object, write KIND/NAME. To
read all objects of a kind, write KIND.

import checks the HCL before it prints it. If the HCL describes the same
objects, you can apply it, and no node is replaced. If the HCL differs from the
objects, or if an object cannot be read, import shows the reason, and the exit
code is 1. A block that does not compile becomes a comment with the reason.

For each object, the HCL has an import block. With this block, "lkeplan apply"
takes over the object from its owner. If Flux, Argo CD, Helm, Terraform or a
NodePlan (an object that applies commits) owns the object, import prints what to
do first. Only its NodePlan can apply an object of a NodePlan.

If a NodePool has no requirement for a capacity type, import writes
capacity_type = null. Without this line, the pool would require on-demand
capacity, which is the default.

With --lke or --terraform, import reads LKE pools (node pools of LKE) that
Karpenter does not manage. For each LKE pool, it writes a pool with the same
plan type (kind of Linode), labels and taints. If the LKE pool has an
autoscaler, its maximum becomes the limit of the pool. import also prints the
steps to move the pods. It changes nothing at Linode.`

func newImport(env *env) *cobra.Command {
	i := importation{env: env, mode: flags.Choice{Of: []string{schemas.ModeLKE, schemas.ModeInstance}}}
	tier := flags.Choice{Of: []string{"standard", "enterprise"}}
	cmd := &cobra.Command{
		Use:   "import [KIND/NAME...]",
		Short: "Write existing objects as HCL",
		Long:  importHelp,
		Example: `  lkeplan import --out-dir clusters/new
  lkeplan import NodePool/general LinodeNodeClass
  lkeplan import --from manifests.yaml --cluster prod --region us-ord
  lkeplan import --from manifests.yaml --out-dir clusters/imported NodePool`,
		RunE: func(cmd *cobra.Command, args []string) error {
			i.cluster.Tier = tier.Value
			if i.lke || i.terraform != "" {
				return i.moveIn(cmd.Context(), args)
			}
			return i.run(cmd.Context(), args)
		},
	}
	cmd.Flags().StringArrayVar(&i.from, "from", nil,
		"read objects from `FILE` instead of a cluster: YAML or JSON, a directory of such files, or \"-\" (standard "+
			"input); may be repeated")
	flags.ClusterFlags(cmd, env, &i.access)
	cmd.Flags().StringVarP(&i.selector, "selector", "l", "",
		"import only objects with these labels, as with kubectl: `KEY=VALUE`")
	flags.OutDir(cmd, &i.outDir)
	cmd.Flags().StringVar(&i.cluster.Name, "cluster", "", "`NAME` of the cluster (default: the name in the objects)")
	cmd.Flags().StringVar(&i.cluster.Region, "region", "", "Linode `REGION` of the cluster (default: the region of its pools or nodes)")
	tier.Flag(cmd, "tier", "", "LKE `TIER` of the cluster")
	i.mode.Flag(cmd, "mode", "", "`MODE` of the cluster: lke for LKE, instance for a cluster that you run yourself "+
		"(default: the mode that the node classes need)")
	cmd.Flags().BoolVar(&i.lke, "lke", false,
		"read the LKE pools of the cluster from the Linode API, with the token in LINODE_TOKEN")
	cmd.Flags().StringVar(&i.terraform, "terraform", "",
		"read the LKE pools from `FILE`, the output of \"terraform show -json\" for a state or a plan")
	cmd.MarkFlagsMutuallyExclusive("lke", "terraform", "from")
	cmd.MarkFlagsMutuallyExclusive("lke", "terraform", "selector")
	cmd.MarkFlagsMutuallyExclusive("lke", "terraform", "mode")
	cmd.MarkFlagsMutuallyExclusive("tier", "mode")
	_ = cmd.MarkFlagFilename("terraform")
	_ = cmd.RegisterFlagCompletionFunc("region", flags.Regions)
	flags.RejectUnused(cmd, flags.Use{
		Flags: flags.OfCluster, If: func() bool { return len(i.from) == 0 }, Else: "is not for --from, which reads no cluster",
	})
	return cmd
}

type importation struct {
	env      *env
	from     []string
	access   kube.Access
	selector string
	outDir   string
	cluster  config.Cluster
	mode     flags.Choice
	nodes    []map[string]any // of the cluster, if it can be read

	lke       bool   // import the LKE pools of a cluster, as Linode lists them
	terraform string // or as Terraform shows them
}

func (i *importation) run(ctx context.Context, args []string) error {
	found, left, err := i.read(ctx)
	if err != nil {
		return err
	}
	leaveOut := func(problems []string) {
		for _, problem := range problems {
			i.say("LEFT OUT: " + problem)
		}
	}
	leaveOut(left)
	var all []map[string]any // also objects that are not imported can name the cluster
	for _, o := range found {
		all = append(all, o.Fields)
	}
	if found, err = migrate.Choose(found, args, i.selector); err != nil {
		return err
	}
	objects, unsound := migrate.Sound(found)
	leaveOut(unsound)
	left = append(left, unsound...)
	if len(objects) == 0 {
		return errors.New("nothing can be imported: all objects are left out")
	}
	present, err := i.present(ctx)
	if err != nil {
		return err
	}
	cluster, comments := present.Cluster, ""
	if cluster.Name == "" {
		cluster, comments = migrate.Describe(all, i.nodes, i.cluster, i.mode.Value)
	}
	imported, err := migrate.Import(ctx, objects, cluster, comments)
	if err != nil {
		return err
	}
	if err := i.save(present, imported); err != nil {
		return err
	}
	printOwners(i.env.Stderr, flags.Columns(i.env.Stderr, i.env.Getenv), imported.Owners)
	if err := flags.Report(i.env, imported.Compiled, imported.Diags); err != nil && !errors.Is(err, flags.ErrReported) {
		return err
	}
	for _, sentence := range imported.Dropped {
		i.say("not imported: " + sentence)
	}
	for _, sentence := range imported.Commented {
		i.say("COMMENTED OUT: " + sentence)
	}
	for _, r := range imported.Remainder {
		i.say("DIFFERS: " + r.String())
	}
	switch {
	case len(imported.Remainder) > 0:
		i.say("The HCL differs from the objects (see above). Resolve that before you apply it.")
	case imported.Diags.HasErrors():
		i.say("The HCL matches the objects, but does not compile: correct the errors above before you apply it.")
	case len(imported.Commented) > 0:
		i.say("The HCL has comments in place of the blocks above: correct the blocks, and uncomment them.")
	case imported.OfNodePlans > 0:
		i.say(fmt.Sprintf("The HCL matches the objects, but lkeplan apply refuses %s of NodePlans (see above).",
			text.Count(imported.OfNodePlans, "object")))
	default:
		fmt.Fprintf(i.env.Stderr, "%s: applying this changes nothing and replaces no node.\n",
			text.Count(len(imported.Blocks), "object"))
	}
	if cluster.Name == schemas.PlaceholderName {
		i.say("Before you apply it, replace " + cluster.Name + " in " + filepath.Join(i.outDir, imported.Files[0].Name) +
			" with the name of the cluster.")
	}
	if len(left) > 0 {
		fmt.Fprintf(i.env.Stderr, "%s left out: see above.\n", text.Count(len(left), "object"))
	}
	if len(left) > 0 || !imported.Exact() {
		return flags.ErrReported
	}
	return nil
}

// say writes one message.
func (i *importation) say(text string) {
	fmt.Fprintln(i.env.Stderr, diag.Fit(diag.OneLine(text), flags.Columns(i.env.Stderr, i.env.Getenv)))
}

// read returns the objects to import, and the files that cannot be read and may have more.
func (i *importation) read(ctx context.Context) (objects []manifests.Object, left []string, err error) {
	if len(i.from) > 0 {
		objects, others, notes, left, err := migrate.ReadFiles(i.from, i.env.Stdin)
		for _, note := range notes {
			fmt.Fprintln(i.env.Stderr, diag.OneLine(note))
		}
		if len(others) > 0 {
			kinds := diag.OneLine(strings.Join(others, ", "))
			fmt.Fprintf(i.env.Stderr, "skipped objects of other kinds: %s\n", kinds)
		}
		return objects, left, err
	}
	cluster, err := kube.Connect(i.access)
	if err != nil {
		return nil, nil, err
	}
	for _, table := range schemas.Document() {
		if table.Object == nil {
			continue
		}
		found, err := compare.LiveView(cluster).Objects(ctx, *table.Object)
		if err != nil {
			return nil, nil, err
		}
		for _, object := range found {
			objects = append(objects, manifests.Object{Fields: object})
		}
	}
	i.nodes, err = cluster.List(ctx, "v1", "Node")
	if apierrors.IsForbidden(err) {
		err = nil // without the right to list nodes, --region names it
	}
	return objects, nil, err
}

// present returns what the target directory already compiles to: nothing if it has no
// configuration.
func (i *importation) present(ctx context.Context) (compile.Result, error) {
	if i.outDir == "" {
		return compile.Result{}, nil
	}
	if _, err := os.Stat(i.outDir); errors.Is(err, fs.ErrNotExist) {
		return compile.Result{}, nil
	} else if err != nil {
		return compile.Result{}, fmt.Errorf("--out-dir %s: %w", i.outDir, files.Cause(err))
	}
	compiled, diags := compile.Dir(ctx, os.DirFS(i.outDir), compile.Options{})
	if len(compiled.Files) == 0 || !diags.HasErrors() {
		return compiled, nil
	}
	if err := flags.Report(i.env, compiled, diags); err != nil && !errors.Is(err, flags.ErrReported) {
		return compile.Result{}, err
	}
	return compile.Result{}, fmt.Errorf("--out-dir %s has errors, so its objects are unknown; correct it first",
		i.outDir)
}

// save writes the files, without a cluster block if the target directory has one.
func (i *importation) save(present compile.Result, imported migrate.Imported) error {
	if err := checkUnclaimed(present, imported.Compiled); err != nil {
		return fmt.Errorf("--out-dir %s: %w", i.outDir, err)
	}
	if present.Cluster.Name != "" {
		return i.write(imported.Files[1:])
	}
	return i.write(imported.Files)
}

// checkUnclaimed checks that the directory does not already have the imported objects or
// addresses.
func checkUnclaimed(present, imported compile.Result) error {
	objects, addresses := map[manifest.Key]config.Addr{}, map[config.Addr]bool{}
	for _, o := range present.Objects {
		objects[o.Key()], addresses[o.Addr] = o.Addr, true
	}
	for _, o := range imported.Objects {
		if addr, has := objects[o.Key()]; has {
			return fmt.Errorf("%s already compiles to %s; import only other objects, or into another directory", addr,
				o.Key())
		}
		if addresses[o.Addr] {
			return fmt.Errorf("%s already exists for another object; rename that block first, with a moved block", o.Addr)
		}
	}
	return nil
}

// write prints the files as one, or writes them if none of them exists.
func (i *importation) write(imported []config.File) error {
	if i.outDir == "" {
		for n, f := range imported {
			if n > 0 {
				fmt.Fprintln(i.env.Stdout)
			}
			if _, err := i.env.Data().Write(f.Data); err != nil {
				return err
			}
		}
		return nil
	}
	for _, f := range imported {
		name := filepath.Join(i.outDir, f.Name)
		if _, err := os.Lstat(name); err == nil {
			return fmt.Errorf("%s already exists; import overwrites nothing", name)
		}
	}
	if err := os.MkdirAll(i.outDir, 0o755); err != nil {
		return fmt.Errorf("make %s: %w", i.outDir, files.Cause(err))
	}
	for _, f := range imported {
		name := filepath.Join(i.outDir, f.Name)
		if err := files.Create(name, f.Data); err != nil {
			return err
		}
		fmt.Fprintf(i.env.Stdout, "%s written\n", name)
	}
	return nil
}

// printOwners prints the owners of objects, and how to hand the objects over.
func printOwners(w io.Writer, width int, owners migrate.Owners) {
	_ = printPage(w, width, func(p *diag.Page) {
		for _, o := range owners {
			who := o.Tool // the name of any field manager, if it is not known
			if bare := strings.ReplaceAll(who, " ", ""); diag.Name(bare) != bare {
				who = strconv.Quote(who)
			}
			if o.What != "" {
				who += " (" + o.What + ")"
			}
			p.Paragraph(0, "%s owns %s. To hand over:", who, strings.Join(o.Objects, ", "))
			for n, step := range o.Steps {
				p.Paragraph(2, "%d. %s", n+1, step)
			}
		}
	})
}

// moveIn writes the LKE pools of a cluster as pools, and prints how to move their pods.
func (i *importation) moveIn(ctx context.Context, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("--lke and --terraform import all LKE pools of a cluster, and take no object names: %s", args[0])
	}
	clusters, err := i.lkeClusters(ctx)
	if err != nil {
		return err
	}
	from, err := migrate.ChooseCluster(clusters, i.cluster.Name)
	if err != nil {
		return err
	}
	plans, err := revision.Options{}.Prices()
	if err != nil {
		return err
	}
	moved := migrate.ImportLKE(from, plans, i.taken(ctx))
	steps := func() {
		for _, line := range moved.Steps(from) {
			fmt.Fprintln(i.env.Stderr, diag.Visible(line))
		}
	}
	if len(moved.Pools) == 0 {
		steps()
		return fmt.Errorf("cluster %s has no LKE pool to import: it has %d, and Karpenter already manages "+
			"%d of them", from.Label, len(from.Pools), len(moved.Passed))
	}
	cluster := config.Cluster{
		Name: from.Label, Region: cmp.Or(i.cluster.Region, from.Region), Tier: cmp.Or(i.cluster.Tier, from.Tier),
	}
	present, err := i.present(ctx)
	if err != nil {
		return err
	}
	if name := present.Cluster.Name; name != "" && name != cluster.Name {
		return fmt.Errorf("--out-dir %s is for cluster %s; the LKE pools are of %s", i.outDir, name, cluster.Name)
	}
	written, err := migrate.Write(ctx, moved.Objects, cluster)
	if err != nil {
		return err
	}
	if err := i.save(present, written); err != nil {
		return err
	}
	if err := flags.Report(i.env, written.Compiled, written.Diags); err != nil {
		return err
	}
	steps()
	return nil
}

// lkeClusters returns the clusters with their LKE pools, from Terraform or Linode.
// Linode is asked only for the pools of the chosen one.
func (i *importation) lkeClusters(ctx context.Context) ([]migrate.LKECluster, error) {
	if i.terraform != "" {
		data, err := os.ReadFile(i.terraform)
		if err != nil {
			return nil, fmt.Errorf("--terraform %s: %w", i.terraform, files.Cause(err))
		}
		clusters, notes, err := migrate.FromTerraform(data)
		if err != nil {
			return nil, fmt.Errorf("--terraform %s: %w", i.terraform, err)
		}
		for _, note := range notes {
			fmt.Fprintln(i.env.Stderr, diag.Visible(note))
		}
		return clusters, nil
	}
	linodeAPI, err := flags.Linode(i.env, "read Kubernetes (lke:read_only)")
	if err != nil {
		return nil, err
	}
	listed, err := linodeAPI.Clusters(ctx)
	if err != nil {
		return nil, api.Explain(err, i.env.Getenv("LINODE_URL"))
	}
	var clusters []migrate.LKECluster
	for _, c := range listed {
		clusters = append(clusters, migrate.LKECluster{Cluster: c})
	}
	chosen, err := migrate.ChooseCluster(clusters, i.cluster.Name)
	if err != nil {
		return nil, err
	}
	pools, err := linodeAPI.Pools(ctx, chosen.ID)
	if err != nil {
		return nil, api.Explain(err, i.env.Getenv("LINODE_URL"))
	}
	for _, p := range pools {
		chosen.Pools = append(chosen.Pools, migrate.LKEPool{Pool: p})
	}
	return []migrate.LKECluster{chosen}, nil
}

// taken asks the cluster of the kubeconfig which names exist. If it does not answer, none
// exists: Terraform's state is read without a cluster.
func (i *importation) taken(ctx context.Context) migrate.NameTaken {
	if !i.lke {
		return migrate.Others(nil)
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	live, err := i.clusterObjects(ctx)
	if err != nil {
		fmt.Fprintf(i.env.Stderr, "lkeplan: whether the cluster already has objects with these names is unknown: %s\n",
			diag.OneLine(err.Error()))
	}
	return migrate.Others(live)
}

// clusterObjects returns the objects of the cluster whose names LKE pools could get.
func (i *importation) clusterObjects(ctx context.Context) (live []map[string]any, err error) {
	cluster, err := kube.Connect(i.access)
	if err != nil {
		return nil, err
	}
	for _, table := range []schemas.Block{schemas.NodeClass, schemas.Pool} {
		found, err := cluster.List(ctx, table.Object.APIVersion, table.Object.Kind)
		if err != nil && !meta.IsNoMatchError(err) {
			return nil, err
		}
		live = append(live, found...)
	}
	return live, nil
}
