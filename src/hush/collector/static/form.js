import{VERSION as t}from"./hush.js";document.title=`hush ${t}`;
