// Search in pages that are opened from a folder: browsers run no worker there, so its script runs in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.appendChild(frame)
      this.inner = frame.contentWindow
      window.addEventListener("message", event => {
        if (event.source !== this.inner) return
        const message = new MessageEvent("message", { data: event.data })
        this.dispatchEvent(message)
        if (this.onmessage) this.onmessage(message)
      })
      this.ready = new Promise(resolve => { this.inner.isReady = resolve })
      const load = `const load = path => new Promise(done => {
        const script = document.createElement("script")
        script.src = path
        script.onload = done
        document.body.appendChild(script)
      })
      window.postMessage = data => parent.dispatchEvent(new MessageEvent("message", { data, source: window }))
      window.importScripts = (...paths) => paths.reduce((before, path) => before.then(() => load(path)), Promise.resolve())
      load(${JSON.stringify(String(url))}).then(isReady)`
      this.inner.document.open()
      this.inner.document.write(`<html><body><script>${load}</` + "script></body></html>")
      this.inner.document.close()
    }

    postMessage(data) {
      this.ready.then(() => this.inner.dispatchEvent(new MessageEvent("message", { data })))
    }
  }
}
