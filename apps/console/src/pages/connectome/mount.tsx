import { render } from 'preact'
import { Explorer, type Opened } from './explorer.tsx'
import { loadGraph } from './graph.ts'

/** Replaces the static map with the interactive one. When that fails, the static map stays. */
export async function mountConnectome(root: Document): Promise<void> {
  const figure = root.querySelector('[data-map]')
  const drawing = figure?.querySelector('svg')
  if (figure === null || figure === undefined || drawing === null || drawing === undefined) return
  const graph = await loadGraph()
  const element = root.createElement('div')
  drawing.replaceWith(element)
  render(<Explorer graph={graph} opened={openedFrom(root)} asked={requestedPath(root)} />, element)
}

/** Reads the form of the page: with both ends given, the map draws the path. */
function requestedPath(root: Document): { readonly from: string; readonly to: string } | undefined {
  const [from = '', to = ''] = ['#from', '#to'].map((id) => root.querySelector<HTMLInputElement>(id)?.defaultValue)
  return from === '' || to === '' ? undefined : { from, to }
}

/** Links to treaties and revocations open next to the map. With a modifier key or without script they open a page. */
function openedFrom(root: Document): Opened {
  return {
    listen(open) {
      const onClick = (event: MouseEvent): void => {
        const link = event.target instanceof Element ? event.target.closest('a[data-treaty], a[data-issuer]') : null
        if (link === null || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return
        event.preventDefault()
        const issuer = link.getAttribute('data-issuer')
        if (issuer === null) open.treaty(decodeURIComponent(link.getAttribute('href')?.split('/').at(-1) ?? ''))
        else open.issuerResult(issuer)
        root.querySelector('.inspector')?.scrollIntoView({ block: 'nearest' })
      }
      root.addEventListener('click', onClick)
      return () => root.removeEventListener('click', onClick)
    },
  }
}
