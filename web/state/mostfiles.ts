/** Of more files the page opens none: each is a tab of the editor. */
export const MOST_FILES = 5_000;
