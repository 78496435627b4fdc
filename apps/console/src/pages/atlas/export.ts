/** Adds a button that exports the map as one file, with its colours on the screen. */
export function mountAtlas(root: Document): void {
  const drawing = root.querySelector<SVGSVGElement>('[data-map] svg')
  const actions = root.querySelector('.actions')
  if (drawing === null || actions === null) return
  const button = root.createElement('button')
  button.type = 'button'
  button.className = 'btn'
  button.textContent = 'Export as SVG'
  button.addEventListener('click', () => save(root, drawingText(drawing), 'atlas.svg', 'image/svg+xml'))
  actions.append(button)
}

const PAINTED = [
  'fill',
  'stroke',
  'stroke-width',
  'stroke-dasharray',
  'font-size',
  'font-family',
  'text-anchor',
  'paint-order',
]

/** Returns a copy with computed colours as attributes, because the file has no style sheet. */
export function drawingText(drawing: SVGSVGElement): string {
  const copy = drawing.cloneNode(true) as SVGSVGElement
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg')
  const [from, to] = [drawing.querySelectorAll('*'), copy.querySelectorAll('*')]
  for (const [i, element] of from.entries()) {
    const style = getComputedStyle(element)
    for (const name of PAINTED) to[i]?.setAttribute(name, style.getPropertyValue(name))
    to[i]?.removeAttribute('class')
  }
  return new XMLSerializer().serializeToString(copy)
}

export function save(root: Document, text: string, name: string, type: string): void {
  const address = URL.createObjectURL(new Blob([text], { type }))
  const link = root.createElement('a')
  link.href = address
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(address), 1000)
}
