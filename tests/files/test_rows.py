"""Matrices by ranges of rows: those of the whole, and what does not fit is refused."""

import pytest
from scipy import sparse

from odl.errors import StorageError
from odl.files import rows, storage


class TestFiles:
    def matrix(self, rng):
        return sparse.random_array((5000, 300), density=0.1, format="csr", rng=rng)

    def test_ranges_of_rows_are_those_of_the_whole(self, rng, tmp_path):
        P, words = self.matrix(rng), [f"word{number}" for number in range(200)]
        with storage.writing(tmp_path / "whole.h5", "test") as file:
            storage.write_csr(file, "matrix", P)
            storage.write_strings(file, "words", words)
        with storage.reading(tmp_path / "whole.h5", "test") as source:
            held = rows.Matrix(source, "matrix")
            assert (held[:] != P).nnz == 0 and (held[4000:4100] != P[4000:4100]).nnz == 0
            with storage.writing(tmp_path / "again.h5", "test") as file:
                storage.copy_array(source, file, "words")
                assert storage.read_strings(file, "words") == words

    def test_what_does_not_fit_is_refused(self, rng, tmp_path):
        with storage.writing(tmp_path / "bad.h5", "test") as file:
            storage.write_csr(file, "matrix", self.matrix(rng))
            file["matrix/indices"][0] = 300
            file["matrix/indptr"][3000] = 7
        with storage.reading(tmp_path / "bad.h5", "test") as file:
            held = rows.Matrix(file, "matrix")
            assert held[100:200].shape == (100, 300)
            for span in (slice(0, 5), slice(2999, 3002)):
                with pytest.raises(StorageError, match=r"bad\.h5 is damaged .* delete"):
                    held[span]
