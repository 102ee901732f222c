/** The browser side of hush. */
export const VERSION = 1;
