import { fileURLToPath } from 'node:url'

/**
 * For services started from sources: stripping types is half of what a start costs, and a campaign starts thousands.
 * Inside node_modules, where no other user can add a program.
 */
export const COMPILE_CACHE = {
  NODE_COMPILE_CACHE: fileURLToPath(new URL('../../../node_modules/.cache/chancery-sources', import.meta.url)),
}
