Creator "somebody"
graph [ directed 1 name "g"
  node [ id 0 label "a &#34;b&#34; &amp; &#228;" values "_networkx_list_start" values "x" graphics [ x 1.5 y -2 ] role "lever" ]
  node [ id 7 label "c" values "x" values "y" role "key" ]
  node [ id 8 ] # a remark
  edge [ source 0 target 7 weight 1.0 ] edge [ source 7 target 8 bidirected 1 ]
]
