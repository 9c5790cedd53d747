"""Rules to text, tables, JSON, SQL, code, PMML and ONNX; one format a file."""
