/** The version of this library. `npm run release:version` sets it. */
export const VERSION: string = '0.2.0'
