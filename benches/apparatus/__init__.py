"""What the measuring scripts share: contenders, networks, data, records. Python standard library only."""
