import '../visible-text.ts'
import { render } from 'preact'
import { App } from './app.tsx'
import '../styles/shared.css'
import '../styles/pages.css'
import './explorer.css'
import '../styles/phone.css'

/** The endpoint explorer of a gateway. It is a separate application, because everything it shows depends on a token. */
const element = document.querySelector('#explorer')
if (element !== null) {
  // Removes the plain links, which are for readers without script.
  element.replaceChildren()
  render(<App />, element)
  document.body.dataset['enriched'] = 'done'
}
