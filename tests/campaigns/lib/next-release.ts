import { type LoadHookContext, registerHooks } from 'node:module'

/**
 * Loaded first in a process that simulates the next release: this release with further migrations, chosen by
 * CHANCERY_NEXT_RELEASE (next-release-migrations.ts).
 */
const LIST = /(const MIGRATIONS: readonly Migration\[\] = \[[^\]]*)\]/
const MIGRATIONS = new URL('next-release-migrations.ts', import.meta.url).href

registerHooks({
  load(url: string, context: LoadHookContext, nextLoad) {
    const loaded = nextLoad(url, context)
    if (!url.endsWith('/database/migrate.ts')) return loaded
    const { source: bytes } = loaded
    const source =
      bytes instanceof Uint8Array ? Buffer.from(bytes).toString('utf8') : typeof bytes === 'string' ? bytes : ''
    if (!LIST.test(source)) throw new Error('the list of migrations has another form: change LIST')
    // Types are removed before the module runs, so the list can grow.
    const longer = source.replace(LIST, '$1]\nMIGRATIONS.push(...nextRelease(MIGRATIONS.at(-1)?.version ?? 0))')
    return { ...loaded, source: `import { nextRelease } from ${JSON.stringify(MIGRATIONS)}\n${longer}` }
  },
})
