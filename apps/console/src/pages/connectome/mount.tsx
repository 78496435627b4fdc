import { render } from 'preact'
import { Explorer } from './explorer.tsx'
import { loadGraph } from './graph.ts'

/** Puts the map to move in about the place of the drawn one; when that fails, the drawn one stays. */
export async function mountConnectome(root: Document): Promise<void> {
  const figure = root.querySelector('[data-map]')
  const drawing = figure?.querySelector('svg')
  if (figure === null || figure === undefined || drawing === null || drawing === undefined) return
  const graph = await loadGraph()
  const place = root.createElement('div')
  drawing.replaceWith(place)
  render(<Explorer graph={graph} opened={papersOf(root)} />, place)
}

/** Links to papers open them beside the map; with a key held, or without script, they lead to the JSON. */
function papersOf(root: Document): { listen(open: (id: string) => void): () => void } {
  return {
    listen(open) {
      const onClick = (event: MouseEvent): void => {
        const link = event.target instanceof Element ? event.target.closest('a[data-treaty]') : null
        if (link === null || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return
        event.preventDefault()
        open(decodeURIComponent(link.getAttribute('href')?.split('/').at(-1) ?? ''))
        root.querySelector('.inspector')?.scrollIntoView({ block: 'nearest' })
      }
      root.addEventListener('click', onClick)
      return () => root.removeEventListener('click', onClick)
    },
  }
}
