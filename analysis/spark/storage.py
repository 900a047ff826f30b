"""Files that Spark can read and this process cannot: by URI, through Hadoop, in the JVM of a session."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from zonelab.analysis.runs.errors import RunError

_CONNECTORS = {"s3a": "org.apache.hadoop:hadoop-aws", "abfss": "org.apache.hadoop:hadoop-azure"}
"""The package of each scheme that pyspark does not bring."""


class Storage:
    """Operations of the analysis on files by URI. Every method raises ``RunError``, one line that names the URI."""

    def __init__(self, session: SparkSession) -> None:
        self._jvm: Any = session._jvm
        self._hadoop: Any = session._jsc.hadoopConfiguration()

    def matching(self, pattern: str) -> list[str]:
        """The URIs of what there is that ``pattern`` (a URI, perhaps with ``*``) matches, sorted."""
        with self._told(pattern):
            path, system = self._opened(pattern)
            return sorted(status.getPath().toString() for status in system.globStatus(path) or ())

    def names(self, uri: str) -> list[str]:
        """The names in a directory; none if it is a file or not there."""
        with self._told(uri):
            path, system = self._opened(uri)
            if not system.exists(path) or not system.getFileStatus(path).isDirectory():
                return []
            return sorted(status.getPath().getName() for status in system.listStatus(path))

    def content(self, uri: str) -> bytes:
        """All bytes of a small file."""
        with self._told(uri):
            path, system = self._opened(uri)
            stream = system.open(path)
            try:
                return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
            finally:
                stream.close()

    def parquet_rows(self, uri: str) -> int:
        """Return how many rows a Parquet file has, by its footer."""
        with self._told(uri):
            path, _ = self._opened(uri)
            file = self._jvm.org.apache.parquet.hadoop.util.HadoopInputFile.fromPath(path, self._hadoop)
            reader = self._jvm.org.apache.parquet.hadoop.ParquetFileReader.open(file)
            try:
                return int(reader.getRecordCount())
            finally:
                reader.close()

    def _opened(self, uri: str) -> tuple[Any, Any]:
        path = self._jvm.org.apache.hadoop.fs.Path(uri)
        return path, path.getFileSystem(self._hadoop)

    @contextmanager
    def _told(self, uri: str) -> Iterator[None]:
        try:
            yield
        except Py4JJavaError as error:
            raise RunError(f"{uri}: {self._why(uri, error.java_exception)}") from error
        except Py4JError as error:
            raise RunError(f"{uri}: Spark has ended: {error}") from error

    def _why(self, uri: str, error: Any) -> str:
        said = " ".join(str(error.toString()).split())
        scheme = uri.partition(":")[0]
        if "ClassNotFoundException" in said or "UnsupportedFileSystemException" in said:
            version = self._jvm.org.apache.hadoop.util.VersionInfo.getVersion()
            package = _CONNECTORS.get(scheme)
            how = (
                f"--conf spark.jars.packages={package}:{version}"
                if package
                else f"--conf spark.hadoop.fs.{scheme}.impl"
            )
            return f"Spark has no connector for {scheme}: name one with {how}"
        return said if len(said) <= 160 else said[:157] + "..."
