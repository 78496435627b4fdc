import { render } from 'preact'
import { OperatorPage } from './operator-page.tsx'

export function mountOperator(root: Document): void {
  const element = root.querySelector('#operator')
  if (element !== null) render(<OperatorPage />, element)
}
