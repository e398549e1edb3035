"""The papers, one file each: figures as data, cells, drawings and claims."""
