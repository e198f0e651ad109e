package main

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/spf13/cobra"
	"github.com/zclconf/go-cty/cty"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/files"
	"github.com/lkeplan/lkeplan/engine/revision"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas"
)

func newInit(env *flags.Env) *cobra.Command {
	var cluster, region string
	ci := flags.Choice{Of: []string{"github", "gitlab"}}
	tier := flags.Choice{Value: "standard", Of: []string{"standard", "enterprise"}}
	mode := flags.Choice{Value: schemas.ModeLKE, Of: []string{schemas.ModeLKE, schemas.ModeInstance}}
	cmd := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Write a first configuration",
		Long: `Write a first configuration with a cluster, a node class and a pool. Comments in
the file explain each block. init overwrites no file. Without DIR, it writes to
the working directory.

With --ci, init also writes guards (limits on one change), a monthly budget,
tests, and a pipeline that checks each change. For GitHub, the pipeline is the
file .github/workflows/lkeplan.yml. For GitLab, it is the file .gitlab-ci.yml.
If the repository already has a .gitlab-ci.yml, init writes
lkeplan.gitlab-ci.yml. Then include this file in your .gitlab-ci.yml.`,
		Example: `  lkeplan init clusters/dev
  lkeplan init --ci github clusters/web
  lkeplan init --cluster ams --region nl-ams --tier enterprise clusters/ams
  lkeplan init --mode instance clusters/self-run`,
		Args: flags.OneDirectory,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "."
			if len(args) > 0 {
				dir = args[0]
			} else if info, err := os.Stat("clusters"); err == nil && info.IsDir() {
				return fmt.Errorf("there is a directory clusters: name the directory of the new cluster, such as clusters/%s, or . for the "+
					"working directory", cmp.Or(cluster, "dev"))
			}
			if cluster == "" {
				cluster = baseName(dir)
			}
			if wrong := schemas.WrongClusterName(cluster, mode.Value == schemas.ModeInstance); wrong != "" {
				return fmt.Errorf("the name of the cluster, which --cluster sets (default: the name of the directory): %s", wrong)
			}
			begin := lkeStart(tier.Value)
			if mode.Value == schemas.ModeInstance {
				begin = instanceStart()
			}
			return initialize(cmd.Context(), env, dir, ci.Value, begin.file(cluster, region))
		},
	}
	cmd.Flags().StringVar(&cluster, "cluster", "",
		"`NAME` of the cluster (default: the name of the directory)")
	cmd.Flags().StringVar(&region, "region", "us-ord", "Linode `REGION` of the cluster")
	tier.Flag(cmd, "tier", "", "LKE `TIER` of the cluster")
	mode.Flag(cmd, "mode", "", "`MODE` of the cluster: lke for LKE, instance for a cluster that you run yourself")
	ci.Flag(cmd, "ci", "", "also write guards, a budget, tests and a pipeline for `SYSTEM`")
	_ = cmd.RegisterFlagCompletionFunc("region", flags.Regions) // fails only for an unknown flag
	flags.RejectUnused(cmd, flags.Use{
		Flags: "tier", If: func() bool { return mode.Value == schemas.ModeLKE },
		Else: "is for clusters of LKE; leave it out with --mode instance",
	})
	return cmd
}

// baseName returns the name of a directory, also if it is written as a dot.
func baseName(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return filepath.Base(dir)
}

// initialize writes the configuration if it is valid.
func initialize(ctx context.Context, env *flags.Env, dir, ci string, src []byte) error {
	present, err := findConfiguration(dir)
	if err != nil {
		return err
	}
	if present != "" {
		return fmt.Errorf("%s exists already; init overwrites nothing", filepath.Join(dir, present))
	}
	root, below := revision.Options{}.Place(dir)
	if slices.Contains(strings.Split(below, "/"), ".git") {
		return fmt.Errorf("%s is inside of .git, which only Git writes; name another directory", dir)
	}
	list := []starterFile{{name: filepath.Join(dir, "main.lke.hcl"), data: src, below: dir}}
	var steps []string
	if ci != "" {
		var pipeline starterFile
		if pipeline, steps, err = pipelineOf(ci, dir, root); err != nil {
			return err
		}
		list = append(list, starterFile{name: filepath.Join(dir, "guards.lke.hcl"), data: starterGuards, below: dir},
			starterFile{name: filepath.Join(dir, "main"+schemas.TestSuffix), data: starterTests, below: dir}, pipeline)
	}
	// Mistakes in the flags are errors before anything is written.
	compiled, diags, err := compile.Files(ctx, configurationOf(list))
	if err != nil {
		return err
	}
	for _, d := range diags {
		d.Subject, d.Context = nil, nil // the file does not exist yet
	}
	if err := flags.Report(env, compiled, diags); err != nil {
		return err
	}
	written, err := writeAll(list)
	if err != nil {
		return err
	}
	for _, name := range written {
		fmt.Fprintln(env.Stdout, name)
	}
	fmt.Fprintf(env.Stdout, "Written. Next:\n  lkeplan validate %s\n", dir)
	for _, step := range steps {
		fmt.Fprintln(env.Stdout, diag.Fit("  "+step, flags.Columns(env.Stdout, env.Getenv)))
	}
	return nil
}

// configurationOf returns the files that are compiled.
func configurationOf(list []starterFile) (sources []config.File) {
	for _, f := range list {
		if strings.HasSuffix(f.name, ".lke.hcl") {
			sources = append(sources, config.File{Name: filepath.Base(f.name), Data: f.data})
		}
	}
	return sources
}

// findConfiguration returns a file of the directory that configuration is read from.
func findConfiguration(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s: %w", dir, files.Cause(err))
	}
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), ".lke.hcl") || strings.HasSuffix(entry.Name(), ".lke.json") {
			return entry.Name(), nil
		}
	}
	return "", nil
}

// The files of a first configuration.
var (
	//go:embed starter/main.lke.hcl.tmpl
	starterMain string
	//go:embed starter/guards.lke.hcl
	starterGuards []byte
	//go:embed starter/main.lketest.hcl
	starterTests []byte
	//go:embed starter/github.yml
	starterGitHub []byte
	//go:embed starter/gitlab.yml
	starterGitLab []byte
)

// start is the part of a first configuration that depends on where machines come from.
type start struct{ where, how, class string }

// lkeStart returns the start for a cluster of LKE.
func lkeStart(tier string) start {
	const class = `# Settings of machines that pools share. This node class uses the defaults of LKE.
node_class "default" {}`
	if catalog.Tier(tier) == catalog.Enterprise {
		return start{" for LKE", "tier = " + quote(tier), `# Settings of machines that pools share. LKE Enterprise can encrypt disks.
node_class "default" {
  disk_encryption = "enabled"
}`}
	}
	return start{" for LKE", "tier = " + quote(tier), class}
}

// instanceStart returns the start for a self-managed cluster on Linodes.
func instanceStart() start {
	return start{"", `mode = "instance"`, `# Settings of Linodes that pools share. image_label selects a private image. The
# image needs cloud-init, a container runtime, and kubeadm or k3s.
node_class "default" {
  image_label = "kubeadm-node"

  bootstrap {
    kind = "kubeadm"
  }
}`}
}

// file returns the first configuration of a cluster.
func (s start) file(cluster, region string) []byte {
	text := strings.NewReplacer("{{name}}", quote(cluster), "{{region}}", quote(region), "{{where}}", s.where,
		"{{how}}", s.how, "{{class}}", s.class)
	return hclwrite.Format([]byte(text.Replace(starterMain)))
}

func quote(text string) string { return string(hclwrite.TokensForValue(cty.StringVal(text)).Bytes()) }
