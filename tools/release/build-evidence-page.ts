import { createHash } from 'node:crypto'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { build } from 'vite'
import { CONSOLE_SETTINGS } from './console-settings.ts'

/**
 * Builds the page form of an evidence pack: one file without a pack, which `chancery evidence pack --html` completes.
 * Script and style are inside it. Its policy allows these two by their digests and nothing else, so the page can reach no
 * network. The policy is in the page too: a sender can change both, so the page says that its result is not proof.
 */

/** Size of the page without its records, in bytes. The build fails above it. */
export const PAGE_LIMIT = 400_000

export async function buildEvidencePage(consoleFolder: string, target: string): Promise<void> {
  const source = join(consoleFolder, 'src', 'evidence-page')
  const script = await bundleScript(consoleFolder, join(source, 'main.ts'))
  const style = `\n${await readFile(join(source, 'styles.css'), 'utf8')}`
  const policy = [
    "default-src 'none'",
    `script-src ${digest(script)}`,
    `style-src ${digest(style)}`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ')
  let page = await readFile(join(source, 'page.html'), 'utf8')
  page = put(page, 'CONTENT-SECURITY-POLICY', policy)
  page = put(page, '<style></style>', `<style>${style}</style>`)
  page = put(page, '<script type="module"></script>', `<script type="module">${script}</script>`)
  if (page.length > PAGE_LIMIT)
    throw new Error(`The evidence page has ${page.length} bytes. Its limit is ${PAGE_LIMIT}.`)
  await mkdir(dirname(target), { recursive: true })
  // A reader finds either the old file or the new one.
  const fresh = `${target}-${process.pid}`
  await writeFile(fresh, page)
  await rename(fresh, target)
}

async function bundleScript(root: string, input: string): Promise<string> {
  const output = await build({
    ...CONSOLE_SETTINGS,
    root,
    build: {
      write: false,
      target: 'es2024',
      modulePreload: false,
      rolldownOptions: { input, output: { entryFileNames: 'page.js', codeSplitting: false } },
    },
  })
  const chunks = [output].flat().flatMap((one) => ('output' in one ? one.output : []))
  const [only, ...more] = chunks
  if (only?.type !== 'chunk' || more.length > 0) throw new Error('The evidence page is more than one script.')
  // Inside a page these two texts would end the script or begin a comment.
  return only.code.replaceAll('</script', String.raw`<\/script`).replaceAll('<!--', String.raw`<\!--`)
}

function digest(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`
}

function put(page: string, place: string, content: string): string {
  const parts = page.split(place)
  if (parts.length !== 2) throw new Error(`The page must have one ${place}.`)
  return parts.join(content)
}
