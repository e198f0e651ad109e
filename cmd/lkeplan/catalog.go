package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/engine/files"
	"github.com/lkeplan/lkeplan/engine/revision"
	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas/text"
)

func newCatalog(env *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "catalog",
		Short: "Save and export prices of Linodes",
	}
	cmd.AddCommand(newCatalogRefresh(env), newCatalogExport(env))
	return cmd
}

func newCatalogExport(env *env) *cobra.Command {
	opts, format := revision.Options{}, ""
	cmd := &cobra.Command{
		Use:   "export --format FORMAT",
		Short: "Write the prices for another tool",
		Long: `Write the hourly prices of all plan types in all regions to the standard output, in the format of
another tool. The only format is opencost: the CSV file that OpenCost reads if
the environment of its container has USE_CSV_PROVIDER=true and the path of the
file in CSV_PATH. Plan types without a known price are not written, and are
listed on the standard error.`,
		Example: "  lkeplan catalog export --format opencost > linode.csv",
		Args:    flags.Arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if format != "opencost" {
				return errors.New("set --format opencost, which is the only format")
			}
			prices, err := opts.Prices()
			if err != nil {
				return err
			}
			unpriced, err := prices.WriteOpenCost(env.Stdout)
			if err == nil && len(unpriced) > 0 {
				fmt.Fprintf(env.Stderr, "not written, because their price is not known: %s; to update the catalogue, run \"lkeplan catalog refresh\"\n",
					strings.Join(unpriced, ", "))
			}
			return err
		},
	}
	cmd.Flags().StringVar(&format, "format", "", "write in `FORMAT`: opencost")
	flags.Catalog(cmd, &opts.Catalog)
	return cmd
}

func newCatalogRefresh(env *env) *cobra.Command {
	url := api.Root(env.Getenv("LINODE_URL"))
	cmd := &cobra.Command{
		Use:   "refresh [FILE]",
		Short: "Update the catalogue from the Linode API",
		Long: `Read plan types (kinds of Linode), regions, prices and availability from the public endpoints of
the Linode API, without a token. Write them to FILE as text, one fact per line.
If a request fails, FILE does not change.

By default, FILE is the nearest lkeplan.catalog, in the working directory or
above it. If there is none, the command creates lkeplan.catalog in the root
of the repository. Commit the file: it pins the prices, as a lock file does.

Each command uses the lkeplan.catalog that is nearest to its directory. If you
have none, commands use the built-in catalogue. If a new catalogue changes a
price, "lkeplan diff" lists it.`,
		Example: "  lkeplan catalog refresh",
		Args:    flags.Arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), time.Minute)
			defer cancel()
			fresh, err := catalog.Fetch(ctx, http.DefaultClient, api.Root(url))
			if err != nil {
				return fmt.Errorf("%w; check the network, or set another API with --linode-url", err)
			}
			file := revision.Options{}.CatalogFile()
			if len(args) > 0 {
				file = args[0]
			}
			snapshot, err := fresh.MarshalText()
			if err != nil {
				return err
			}
			if err := files.Replace(file, snapshot); err != nil {
				return err
			}
			fmt.Fprintf(env.Stdout, "%s: %s, %s%s\n", file, text.Count(len(fresh.Plans()), "plan"),
				text.Count(len(fresh.Regions()), "region"), fresh.Age())
			return nil
		},
	}
	cmd.Flags().StringVar(&url, "linode-url", url, "read from the Linode API at `URL`, which $LINODE_URL also sets")
	return cmd
}
