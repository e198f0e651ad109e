package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/files"
	"github.com/lkeplan/lkeplan/engine/revision"
	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

func newCatalog(env *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "catalog",
		Short: "Pin the catalogue of plan types and prices",
	}
	cmd.AddCommand(newCatalogRefresh(env))
	return cmd
}

func newCatalogRefresh(env *env) *cobra.Command {
	url := api.Root(env.Getenv("LINODE_URL"))
	cmd := &cobra.Command{
		Use:   "refresh [FILE]",
		Short: "Update the catalogue from the Linode API",
		Long: `Read plan types, regions, prices and availability from the public endpoints of
the Linode API, without a token, and write them to FILE as text, one fact per
line. FILE is replaced after everything has been read.

The default is the file lkeplan.catalog in the working directory or above, or
else in the root of the repository. Commit the file: it pins the prices, as a
lock file does. Each command uses the nearest lkeplan.catalog, in its directory
or above. lkeplan diff lists the prices that a new catalogue changes. Without
such a file, lkeplan uses its built-in catalogue.`,
		Example: "  lkeplan catalog refresh",
		Args:    cobra.MaximumNArgs(1),
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
			fmt.Fprintf(env.Stdout, "%s: %s, %s, %s\n", file, diag.Counted(len(fresh.Plans()), "plan"),
				diag.Counted(len(fresh.Regions()), "region"), fresh.Age())
			return nil
		},
	}
	cmd.Flags().StringVar(&url, "linode-url", url, "`URL` of the Linode API ($LINODE_URL)")
	return cmd
}
