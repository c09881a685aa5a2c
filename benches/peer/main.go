// Command peer does in Go what every Kubernetes controller and client does with a stream of ModelDeployments: it splits
// the stream into documents, decodes each strictly into a Go struct, and encodes the struct as YAML again. It validates
// nothing, selects nothing and generates nothing, so kubefoundry, which does all of that, should still be faster.
//
// Usage: peer FILE >/dev/null
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: peer FILE")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run reads every document of a file and writes it to standard output.
func run(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	reader := utilyaml.NewYAMLReader(bufio.NewReader(file))
	out := bufio.NewWriterSize(os.Stdout, 64*1024)
	for number := 0; ; number++ {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return out.Flush()
		}
		if err != nil {
			return err
		}
		var deployment ModelDeployment
		if err := yaml.UnmarshalStrict(document, &deployment); err != nil {
			return fmt.Errorf("document %d: %w", number, err)
		}
		text, err := yaml.Marshal(&deployment)
		if err != nil {
			return err
		}
		if number > 0 {
			if _, err := out.WriteString("---\n"); err != nil {
				return err
			}
		}
		if _, err := out.Write(text); err != nil {
			return err
		}
	}
}
