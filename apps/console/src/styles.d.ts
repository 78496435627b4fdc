/** Style sheets are bundled; they have no value. */
declare module '*.css'
