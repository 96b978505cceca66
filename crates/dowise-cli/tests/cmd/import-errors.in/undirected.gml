graph [
  node [ id 0 label "smoke" ]
  node [ id 1 label "smoke" ]
  edge [ source 0 target 2 ]
]
