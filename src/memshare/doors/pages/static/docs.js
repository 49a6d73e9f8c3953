SwaggerUIBundle({ url: "/openapi.json", dom_id: "#requests", deepLinking: true, validatorUrl: null });
