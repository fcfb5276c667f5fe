#!/usr/bin/env python3
"""Which names count as tested."""

import importlib.machinery
import importlib.util
import pathlib
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
loader = importlib.machinery.SourceFileLoader("tested_names", str(ROOT / "tools/tested-names"))
tested_names = importlib.util.module_from_spec(importlib.util.spec_from_loader("tested_names", loader))
loader.exec_module(tested_names)


class TestedNames(unittest.TestCase):
    def called(self, text, names):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "program.cu"
            file.write_text(text)
            return tested_names.called(file, set(names))

    def test_calls_count_and_mentions_do_not(self):
        program = """
            // cudaOne(x);
            /* cudaTwo(x);
               cudaTwo(y); */
            const char* name = "cudaThree(\\"x\\")";
            const char* raw = R"(cudaFour(x))";
            using Function = decltype(&cudaFive);
            const char quote = '"';
            cudaSix(x);
            CHECK(cudaSeven (x) == cudaSuccess);
            auto* taken = cudaEight;
        """
        names = ["cudaOne", "cudaTwo", "cudaThree", "cudaFour", "cudaFive", "cudaSix", "cudaSeven", "cudaEight"]
        self.assertEqual(self.called(program, names), {"cudaSix", "cudaSeven", "cudaEight"})

    def test_names_as_headers_have_them(self):
        self.assertEqual(self.called("cublasSgemm(a);", ["cublasSgemm", "cublasSgemm_v2"]), {"cublasSgemm_v2"})
        self.assertEqual(self.called("cublasSgemm_64(a);", ["cublasSgemm_v2", "cublasSgemm_v2_64"]), {"cublasSgemm_v2_64"})
        self.assertEqual(self.called("cublasSgemmEx(a);", ["cublasSgemm_v2", "cublasSgemmEx"]), {"cublasSgemmEx"})

    def test_names_of_before_there_were_handles(self):
        names = ["cublasSgemm", "cublasSgemm_v2", "cublasDaxpy", "cublasZaxpy", "cublasDaxpy_v2"]
        self.assertEqual(self.called("#include <cublas.h>\ncublasSgemm(a);", names), {"cublasSgemm"})
        self.assertEqual(self.called("#include <cublas.h>\n#define OF(p) cublas##p##axpy", names), {"cublasDaxpy", "cublasZaxpy"})

    def test_launches(self):
        self.assertIn("cudaLaunchKernel", self.called("kernel<<<1, 1>>>();", ["cudaLaunchKernel"]))
        self.assertEqual(self.called("// kernel<<<1, 1>>>();", ["cudaLaunchKernel"]), set())


if __name__ == "__main__":
    unittest.main()
