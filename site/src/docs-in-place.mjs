import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isShown, sitePages } from '../../tools/docs/pages.ts'

const ROOT = join(process.cwd(), '..')

/** On small screens tables and code blocks scroll. With `tabindex` they can be reached by keyboard. */
const reachable = (html) => html.replaceAll(/<(table|pre)(?=[ >])/g, '<$1 tabindex="0"')

/** The headings of a page of commands all have the same words. A search for one of them must find what it means first. */
const asText = (id, html) =>
  id.startsWith('reference/commands/') ? html.replaceAll('<h2', '<h2 data-pagefind-weight="1"') : html

/** Loads the Markdown files of the repository without copying them; adds titles and site links. */
export function docsInPlace() {
  const fill = async ({ config, store, parseData, renderMarkdown, generateDigest }) => {
    store.clear()
    for (const page of sitePages(ROOT, config.base)) {
      const { id, title, description, body, file, isSearched } = page
      const facts = { title, description, pagefind: isSearched, editUrl: false }
      const data = await parseData({ id, data: facts, filePath: join(ROOT, file) })
      const rendered = await renderMarkdown(body, { fileURL: pathToFileURL(join(ROOT, file)) })
      rendered.html = asText(id, reachable(rendered.html))
      store.set({ id, data, body, rendered, digest: generateDigest(body), filePath: join('..', file) })
    }
  }
  return {
    name: 'docs-in-place',
    load: async (context) => {
      await fill(context)
      context.watcher?.add(join(ROOT, 'docs'))
      context.watcher?.on('change', (file) => {
        if (isShown(file, ROOT)) void fill(context)
      })
    },
  }
}
