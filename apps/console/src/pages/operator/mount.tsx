import { render } from 'preact'
import { Desk } from './desk.tsx'

export function mountOperator(root: Document): void {
  const place = root.querySelector('#desk')
  if (place !== null) render(<Desk />, place)
}
