import { VERSION } from "hush-client";

document.title = `hush ${VERSION}`;
