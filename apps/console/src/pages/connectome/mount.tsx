import { render } from 'preact'
import { Explorer } from './explorer.tsx'
import type { Opened } from './explorer.tsx'
import { loadGraph } from './graph.ts'

/** Puts the map to move in about the place of the drawn one; when that fails, the drawn one stays. */
export async function mountConnectome(root: Document): Promise<void> {
  const figure = root.querySelector('[data-map]')
  const drawing = figure?.querySelector('svg')
  if (figure === null || figure === undefined || drawing === null || drawing === undefined) return
  const graph = await loadGraph()
  const element = root.createElement('div')
  drawing.replaceWith(element)
  render(<Explorer graph={graph} opened={openedFrom(root)} asked={requestedPath(root)} />, element)
}

/** The form of the page holds what was asked: with both ends given, the map draws the path, too. */
function requestedPath(root: Document): { readonly from: string; readonly to: string } | undefined {
  const [from = '', to = ''] = ['#from', '#to'].map((id) => root.querySelector<HTMLInputElement>(id)?.defaultValue)
  return from === '' || to === '' ? undefined : { from, to }
}

/** Links to papers and withdrawals show beside the map; with a key held, or without script, they lead elsewhere. */
function openedFrom(root: Document): Opened {
  return {
    listen(open) {
      const onClick = (event: MouseEvent): void => {
        const link = event.target instanceof Element ? event.target.closest('a[data-treaty], a[data-blast]') : null
        if (link === null || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return
        event.preventDefault()
        const issuer = link.getAttribute('data-blast')
        if (issuer === null) open.treaty(decodeURIComponent(link.getAttribute('href')?.split('/').at(-1) ?? ''))
        else open.issuerResult(issuer)
        root.querySelector('.inspector')?.scrollIntoView({ block: 'nearest' })
      }
      root.addEventListener('click', onClick)
      return () => root.removeEventListener('click', onClick)
    },
  }
}
