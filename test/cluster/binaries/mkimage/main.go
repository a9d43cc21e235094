// Command mkimage writes a container image of one layer as a tar that
// "ctr images import" reads, from the files it is given:
//
//	mkimage -o agnhost.tar -names registry.k8s.io/agnhost:1 -entrypoint /agnhost bin/agnhost=/agnhost ...
//
// A source that is a folder gives all that is in it. A source that is empty
// makes a directory, and one that starts with "@" a symbolic link to the rest
// of it.
package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
)

func main() {
	out := flag.String("o", "", "the tar to write")
	names := flag.String("names", "", "the image's full names, split at spaces")
	entrypoint := flag.String("entrypoint", "", "the entry point, words split at spaces")
	cmd := flag.String("cmd", "", "the default arguments, words split at spaces")
	workdir := flag.String("workdir", "/", "the folder that the entry point starts in")
	env := flag.String("env", "PATH=/usr/sbin:/usr/bin:/sbin:/bin:/", "the environment, split at spaces")
	flag.Parse()

	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	for _, arg := range flag.Args() {
		src, dst, ok := strings.Cut(arg, "=")
		if !ok {
			log.Fatalf("%q is not source=destination", arg)
		}
		dst = strings.TrimPrefix(dst, "/")
		switch {
		case src == "":
			add(w, &tar.Header{Typeflag: tar.TypeDir, Name: dst + "/", Mode: 0o1777}, nil)
		case src[0] == '@':
			add(w, &tar.Header{Typeflag: tar.TypeSymlink, Name: dst, Linkname: src[1:], Mode: 0o777}, nil)
		default:
			addTree(w, src, dst)
		}
	}
	check(w.Close())

	// The layout is Docker's ("docker save"), the simpler of the two that import reads.
	digest := fmt.Sprintf("%x", sha256.Sum256(layer.Bytes()))
	config := marshal(map[string]any{
		"architecture": runtime.GOARCH,
		"os":           "linux",
		"config": map[string]any{
			"Entrypoint": strings.Fields(*entrypoint),
			"Cmd":        strings.Fields(*cmd),
			"WorkingDir": *workdir,
			"Env":        strings.Fields(*env),
		},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + digest}},
	})
	manifest := marshal([]map[string]any{{
		"Config":   "config.json",
		"RepoTags": strings.Fields(*names),
		"Layers":   []string{"layer.tar"},
	}})
	f := must(os.Create(*out))
	w = tar.NewWriter(f)
	for _, e := range []struct {
		name string
		data []byte
	}{{"config.json", config}, {"layer.tar", layer.Bytes()}, {"manifest.json", manifest}} {
		add(w, &tar.Header{Name: e.name, Mode: 0o644, Size: int64(len(e.data))}, e.data)
	}
	check(w.Close())
	check(f.Close())
}

// addTree adds a file, or a folder with all that is in it, as root's.
func addTree(w *tar.Writer, src, dst string) {
	info := must(os.Stat(src)) // a source that is itself a link is followed, one inside a folder is kept
	if !info.IsDir() {
		addFile(w, src, dst, info)
		return
	}
	check(filepath.WalkDir(src, func(file string, entry fs.DirEntry, err error) error {
		check(err)
		name := strings.TrimPrefix(path.Join(dst, strings.TrimPrefix(file, src)), "/")
		if name == "" {
			return nil
		}
		addFile(w, file, name, must(entry.Info()))
		return nil
	}))
}

func addFile(w *tar.Writer, src, dst string, info fs.FileInfo) {
	h := &tar.Header{Name: dst, Mode: int64(info.Mode().Perm())}
	switch {
	case info.IsDir():
		h.Typeflag, h.Name = tar.TypeDir, dst+"/"
		add(w, h, nil)
	case info.Mode()&fs.ModeSymlink != 0:
		h.Typeflag, h.Linkname = tar.TypeSymlink, must(os.Readlink(src))
		add(w, h, nil)
	default:
		data := must(os.ReadFile(src))
		h.Size = int64(len(data))
		add(w, h, data)
	}
}

func add(w *tar.Writer, h *tar.Header, data []byte) {
	check(w.WriteHeader(h))
	_, err := w.Write(data)
	check(err)
}

func marshal(v any) []byte { return must(json.Marshal(v)) }

func must[T any](v T, err error) T {
	check(err)
	return v
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
