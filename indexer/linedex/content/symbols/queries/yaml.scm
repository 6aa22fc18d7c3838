(block_mapping_pair key: (_) @name value: (block_node)) @object
(block_mapping_pair key: (_) @name) @key
(flow_mapping (flow_pair key: (_) @name) @key)
