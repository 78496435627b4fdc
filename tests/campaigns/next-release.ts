import { registerHooks } from 'node:module'
import type { LoadHookContext } from 'node:module'

/**
 * Loaded before anything else in a process that stands for the next release: this one with further migrations, chosen
 * by CHANCERY_NEXT_RELEASE (next-release-migrations.ts).
 */
const LIST_END = '  servingReleases,\n]'
const MIGRATIONS = new URL('next-release-migrations.ts', import.meta.url).href

registerHooks({
  load(url: string, context: LoadHookContext, nextLoad) {
    const loaded = nextLoad(url, context)
    if (!url.endsWith('/store/migrate.ts')) return loaded
    const { source: bytes } = loaded
    const source =
      bytes instanceof Uint8Array ? Buffer.from(bytes).toString('utf8') : typeof bytes === 'string' ? bytes : ''
    if (!source.includes(LIST_END)) throw new Error('the list of migrations ends otherwise: change LIST_END')
    const longer = source.replace(LIST_END, '  servingReleases,\n  ...nextRelease,\n]')
    return { ...loaded, source: `import { nextRelease } from ${JSON.stringify(MIGRATIONS)}\n${longer}` }
  },
})
