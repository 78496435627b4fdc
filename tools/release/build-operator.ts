import { readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { build } from 'vite'
import { CONSOLE_SETTINGS } from './console-settings.ts'
import { type BuiltScript, checkPages, measurePages } from './page-sizes.ts'

/**
 * Builds the operator console: one core script, one script per page that is loaded on demand, one style sheet. Names
 * contain a digest of the content, so that browsers may cache them permanently. Writes compressed copies and a manifest
 * with the list of files and the navigation, which the authority renders before the script runs.
 */

/** Sizes after compression, in bytes. The build fails above them. */
export const BUDGETS = { core: 45_000, page: 8_000, style: 12_000 } as const
/** Scripts with another limit, each with its reason. */
const OTHER_LIMITS: Readonly<Record<string, { readonly bytes: number; readonly reason: string }>> = {
  verify: { bytes: 35_000, reason: 'the verification code of the protocol, loaded when a record is verified' },
  'yaml-format': { bytes: 33_000, reason: 'the YAML reader of the field, loaded when a draft is written in YAML' },
}

/**
 * Everything that each page needs: one script. It has the verification of the genesis block and the passkeys, which every
 * unlock uses. The drawer that signs is loaded with the first one that is opened.
 */
const CORE =
  /\/preact\/|\/console\/src\/operator\/(?!pages\/|parts\/export|proof\/(?!agent-signature)|signing\/(?:review-drawer|review-state|fields|signed-text|spell-out)|words\/(?:events|decisions|evidence|partners|proofs))|\/protocol\/src\/canonical\/read-json/

/** Modules that several scripts use. The first group that matches a module takes it with what it imports. */
const GROUPS = [
  { name: 'core', test: CORE, priority: 2 },
  { name: 'verify', test: /\/packages\/protocol\/src\//, priority: 1 },
]

interface NavPage {
  readonly path: string
  readonly title: string
  readonly asks: string
  readonly nav?: { readonly group: string; readonly icon: string; readonly isLast?: true }
}

export async function buildOperator(consoleFolder: string, target: string): Promise<void> {
  const source = join(consoleFolder, 'src', 'operator')
  const output = await build({
    ...CONSOLE_SETTINGS,
    root: consoleFolder,
    base: './',
    build: {
      outDir: target,
      emptyOutDir: true,
      target: 'es2024',
      modulePreload: false,
      cssCodeSplit: false,
      rolldownOptions: {
        input: { operator: join(source, 'main.tsx') },
        output: {
          entryFileNames: '[name]-[hash].js',
          // A page is `pages/NAME/page.tsx`: its script has the name of the folder.
          chunkFileNames: ({ facadeModuleId }) => `${pageOf(facadeModuleId) ?? '[name]'}-[hash].js`,
          assetFileNames: 'operator-[hash][extname]',
          codeSplitting: { groups: GROUPS },
        },
      },
    },
  })
  const files = (await readdir(target)).sort()
  const find = (pattern: RegExp): string => files.find((name) => pattern.test(name)) ?? ''
  const manifest = {
    script: find(/^operator-.*\.js$/),
    style: find(/^operator-.*\.css$/),
    files,
    nav: await readNavigation(source),
  }
  const sizes = await Promise.all(files.map(async (name) => ({ name, bytes: await compress(join(target, name)) })))
  checkBudgets(sizes)
  const scripts = readScripts(output)
  const pages = measurePages(scripts, new Map(sizes.map(({ name, bytes }) => [name, bytes])), [
    manifest.script,
    manifest.style,
  ])
  checkPages(pages)
  await writeFile(join(target, 'manifest.json'), JSON.stringify(manifest))
}

/** The name of the folder when the module is the script of a page. */
function pageOf(module: string | null): string | undefined {
  return /\/pages\/([a-z-]+)\/page\.tsx$/.exec(module ?? '')?.[1]
}

function readScripts(output: Awaited<ReturnType<typeof build>>): readonly BuiltScript[] {
  if (!('output' in output)) throw new Error('The build has no list of files.')
  return output.output.flatMap((file) =>
    file.type === 'chunk'
      ? [
          {
            name: file.fileName,
            imports: file.imports,
            dynamicImports: file.dynamicImports,
            page: pageOf(file.facadeModuleId),
          },
        ]
      : [],
  )
}

async function readNavigation(source: string): Promise<readonly object[]> {
  // A computed address: these modules belong to the browser and have other compiler settings.
  const load = async (name: string): Promise<unknown> => import(pathToFileURL(join(source, name)).href)
  const { PAGES } = (await load('pages.ts')) as { readonly PAGES: readonly NavPage[] }
  const { ICONS } = (await load('parts/icons.ts')) as { readonly ICONS: Readonly<Record<string, string>> }
  return PAGES.flatMap(({ path, title, asks, nav }) =>
    nav === undefined
      ? []
      : [{ path, title, asks, group: nav.group, isLast: nav.isLast === true, icon: ICONS[nav.icon] ?? '' }],
  )
}

/** Writes the two compressed copies and returns the size of the larger one. */
async function compress(file: string): Promise<number> {
  const bytes = await readFile(file)
  const gzip = gzipSync(bytes, { level: 9 })
  await writeFile(`${file}.gz`, gzip)
  await writeFile(`${file}.br`, brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }))
  return gzip.length
}

export function checkBudgets(sizes: readonly { readonly name: string; readonly bytes: number }[]): void {
  for (const { name, bytes } of sizes) {
    const limit = limitOf(name)
    if (bytes > limit) throw new Error(`${name} has ${bytes} bytes after compression. Its limit is ${limit}.`)
  }
}

function limitOf(name: string): number {
  if (name.endsWith('.css')) return BUDGETS.style
  const part = name.replace(/-.{8}\.js$/, '')
  if (part === 'operator') return BUDGETS.core
  return OTHER_LIMITS[part]?.bytes ?? BUDGETS.page
}
