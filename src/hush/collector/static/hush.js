var o=1;export{o as VERSION};
